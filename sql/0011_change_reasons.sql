-- Why a day's result changed, as codes with what belongs to them instead of English sentences: the page says them in the
-- reader's language. What was written before stays as it was, under the code "sentence".
ALTER TABLE reconciliation_changes ALTER COLUMN reasons TYPE jsonb USING to_jsonb(reasons);
UPDATE reconciliation_changes SET reasons = (
  SELECT coalesce(jsonb_agg(jsonb_build_object('code', 'sentence', 'text', sentence) ORDER BY place), '[]')
  FROM jsonb_array_elements_text(reasons) WITH ORDINALITY AS old (sentence, place)
);
