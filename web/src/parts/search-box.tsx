import { CloseButton, Kbd, TextInput } from "@mantine/core";
import { type SubmitEvent, type ReactNode, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useSearch } from "wouter/use-browser-location";
import { messagesPath, readFilters } from "../text/message-filters.ts";
import { SearchIcon } from "./icons.tsx";
import { useFollowing } from "./use-following.ts";

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** One field for everything, always on top. "/" goes into it, Enter asks, Escape leaves it. */
export function SearchBox(): ReactNode {
  const { t } = useTranslation();
  const [path, navigate] = useLocation();
  const search = useSearch();
  const filters = readFilters(path === "/messages" ? search : "");
  const asked = filters.q === "" ? filters.recipient : filters.q;
  // The address is the state: after Back, the field shows what the list shows.
  const [typed, setTyped] = useFollowing(asked);
  const input = useRef<HTMLInputElement>(null);

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);

  const ask = (q: string): void => navigate(messagesPath({ ...filters, recipient: "", q: q.trim() }));
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    ask(typed);
  };

  return (
    <search className="search">
      <form onSubmit={onSubmit}>
        <TextInput
          ref={input}
          type="search"
          name="q"
          value={typed}
          maxLength={500}
          autoComplete="off"
          spellCheck={false}
          aria-label={t("header.searchLabel")}
          aria-keyshortcuts="/"
          placeholder={t("header.search")}
          leftSection={<SearchIcon />}
          rightSection={
            typed === "" ? (
              <Kbd aria-hidden="true">/</Kbd>
            ) : (
              <CloseButton
                size="sm"
                aria-label={t("header.clear")}
                onClick={() => {
                  setTyped("");
                  if (asked !== "") ask("");
                  input.current?.focus();
                }}
              />
            )
          }
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
      </form>
    </search>
  );
}
