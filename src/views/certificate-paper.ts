import { once } from "node:events";
import PDFDocument from "pdfkit";

/** What is drawn with: one column on A4, from top to bottom, breaking pages by itself. */

const INK = "#1d1b18";
export const MUTED = "#6d6860";
const LINE = "#d6d0c3";

/** In points. */
const MARGIN = 56;
const FOOT = 44;
const ROW = 17;
const BODY = 9.5;
const SMALL = 8.5;

export interface Paper {
  doc: PDFKit.PDFDocument;
  width: number;
}

export interface PaperOptions {
  title: string;
  language: string;
  /** Instead of the present, so that the same data makes the same bytes. */
  createdAt: Date;
  /** For tests: text streams as they are, to be read. */
  isPlain: boolean;
}

export function openPaper({ title, language, createdAt, isPlain }: PaperOptions): Paper {
  const doc = new PDFDocument({
    size: "A4",
    margins: { top: MARGIN, left: MARGIN, right: MARGIN, bottom: MARGIN + FOOT },
    bufferPages: true,
    compress: !isPlain,
    lang: language,
    displayTitle: true,
    info: { Title: title, Author: "Holdfast", Creator: "Holdfast", CreationDate: createdAt, ModDate: createdAt },
  });
  return { doc, width: doc.page.width - 2 * MARGIN };
}

/** Everything drawn, as the bytes of a file. */
export async function closePaper({ doc }: Paper): Promise<Buffer> {
  const chunks: Buffer[] = [];
  doc.on("data", (chunk: Buffer) => chunks.push(chunk));
  const ended = once(doc, "end");
  doc.end();
  await ended;
  return Buffer.concat(chunks);
}

/** The PDF's own fonts hold the characters of Windows-1252; an account's name may hold anything. */
function printable(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e\u00a0-\u00ff–—‘’“”„…•€\n]/gu, "?");
}

/** Begins a new page when less than this is left. */
function need({ doc }: Paper, height: number): void {
  if (doc.y + height > doc.page.height - MARGIN - FOOT) doc.addPage();
}

export function gap({ doc }: Paper, height: number): void {
  doc.y += height;
}

export function rule({ doc, width }: Paper, colour = LINE): void {
  doc
    .moveTo(MARGIN, doc.y)
    .lineTo(MARGIN + width, doc.y)
    .lineWidth(0.75)
    .stroke(colour);
}

interface TextStyle {
  size?: number;
  font?: "Helvetica" | "Helvetica-Bold" | "Courier";
  colour?: string;
  indent?: number;
}

/** A paragraph over the column's width. */
export function paragraph(paper: Paper, text: string, style: TextStyle = {}): void {
  const { size = BODY, font = "Helvetica", colour = INK, indent = 0 } = style;
  const { doc, width } = paper;
  doc.font(font).fontSize(size).fillColor(colour);
  const options = { width: width - indent, lineGap: size * 0.28 };
  need(paper, Math.min(doc.heightOfString(printable(text), options), 200));
  doc.text(printable(text), MARGIN + indent, doc.y, options);
}

/** A heading stays with what follows it. */
export function heading(paper: Paper, text: string, follows = 60): void {
  gap(paper, 16);
  need(paper, follows);
  paragraph(paper, text, { size: 11, font: "Helvetica-Bold" });
  gap(paper, 3);
}

/** Names and values beside each other. */
export function facts(paper: Paper, rows: readonly (readonly [name: string, value: string])[]): void {
  const { doc, width } = paper;
  const indent = 132;
  for (const [name, value] of rows) {
    const top = doc.y;
    doc
      .font("Helvetica")
      .fontSize(BODY)
      .fillColor(MUTED)
      .text(printable(name), MARGIN, top, { width: indent - 8 });
    doc.fillColor(INK).text(printable(value), MARGIN + indent, top, { width: width - indent });
    gap(paper, 4);
  }
}

/** Points with a dot in front. */
export function points(paper: Paper, texts: readonly string[]): void {
  const { doc } = paper;
  for (const text of texts) {
    need(paper, 30);
    const top = doc.y;
    doc.circle(MARGIN + 3, top + 4.6, 1.3).fill(MUTED);
    doc.y = top;
    paragraph(paper, text, { indent: 12 });
    gap(paper, 3);
  }
}

export interface Column {
  label: string;
  /** A share of the width; they add up to 1. */
  share: number;
  align: "left" | "right";
}

export interface Row {
  cells: readonly string[];
  /** Colours of single cells, by their place. */
  colours?: Readonly<Record<number, string>>;
  isSum?: boolean;
}

/** A table that goes on, with its head, on as many pages as it needs. */
export function table(paper: Paper, columns: readonly Column[], rows: readonly Row[]): void {
  drawHead(paper, columns);
  for (const row of rows) {
    const { page } = paper.doc;
    // A sum never stands alone on a page.
    need(paper, ROW);
    if (paper.doc.page !== page) drawHead(paper, columns);
    drawRow(paper, columns, row);
  }
}

function drawHead(paper: Paper, columns: readonly Column[]): void {
  const colours = Object.fromEntries(columns.map((_column, index) => [index, MUTED]));
  drawCells(paper, columns, { cells: columns.map(({ label }) => label), colours });
  rule(paper, MUTED);
}

function drawRow(paper: Paper, columns: readonly Column[], row: Row): void {
  if (row.isSum === true) rule(paper, MUTED);
  drawCells(paper, columns, row);
  rule(paper);
}

function drawCells({ doc, width }: Paper, columns: readonly Column[], row: Row): void {
  const top = doc.y;
  let left = MARGIN;
  for (const [index, { share, align }] of columns.entries()) {
    // A row that ends early lets its last text run over the columns that it leaves empty.
    const isLast = align === "left" && index === row.cells.length - 1;
    const cellWidth = isLast ? MARGIN + width - left : share * width;
    doc
      .font(row.isSum === true ? "Helvetica-Bold" : "Helvetica")
      .fontSize(SMALL)
      .fillColor(row.colours?.[index] ?? INK)
      .text(printable(row.cells[index] ?? ""), left, top + 4.5, {
        width: cellWidth - (align === "left" ? 6 : 0),
        height: ROW,
        align,
        lineBreak: false,
        ellipsis: "…",
      });
    left += share * width;
  }
  doc.y = top + ROW;
}

/** The line at the foot of every page. Comes last, when their number is known. */
export function footers({ doc, width }: Paper, left: string, pageText: (page: number, pages: number) => string): void {
  const { start, count } = doc.bufferedPageRange();
  for (let index = 0; index < count; index += 1) {
    doc.switchToPage(start + index);
    // Text below the margin would begin a new page.
    doc.page.margins.bottom = 0;
    const top = doc.page.height - MARGIN;
    doc
      .moveTo(MARGIN, top - 8)
      .lineTo(MARGIN + width, top - 8)
      .lineWidth(0.5)
      .stroke(LINE);
    doc.font("Helvetica").fontSize(8).fillColor(MUTED);
    doc.text(printable(left), MARGIN, top, { width: width * 0.75, lineBreak: false });
    doc.text(pageText(index + 1, count), MARGIN + width * 0.75, top, {
      width: width * 0.25,
      align: "right",
      lineBreak: false,
    });
  }
}

/** Holdfast's sign and name at the top of the first page. */
export function letterhead({ doc }: Paper): void {
  doc
    .save()
    .translate(MARGIN - 3, MARGIN - 4)
    .scale(0.95)
    .lineWidth(1.7)
    .lineCap("round")
    .strokeColor(INK);
  for (const path of [
    "M11 2v11M11 13c0 4-5 3-7 7M11 13c0 4 5 3 7 7M11 13c0 3-2 4-2 7M11 13c0 3 2 4 2 7",
    "M7 5c1 2 3 3 4 3s3-1 4-3",
  ]) {
    doc.path(path).stroke();
  }
  doc.restore();
  doc
    .font("Helvetica-Bold")
    .fontSize(12)
    .fillColor(INK)
    .text("Holdfast", MARGIN + 24, MARGIN);
  doc.y = MARGIN + 40;
}

/** The verdict behind a bar in its colour. */
export function verdictBox(
  paper: Paper,
  verdict: { colour: string; sentence: string; notes: readonly string[] },
): void {
  const { doc } = paper;
  const top = doc.y;
  doc.y = top + 2;
  paragraph(paper, verdict.sentence, { size: 13, font: "Helvetica-Bold", indent: 16 });
  for (const note of verdict.notes) {
    gap(paper, 4);
    paragraph(paper, note, { indent: 16 });
  }
  doc.rect(MARGIN, top, 3.5, doc.y - top).fill(verdict.colour);
}
