import { Button } from "@mantine/core";
import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
} from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { MessageList as MessagePage } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import type { Column } from "../text/columns.ts";
import { apiQuery, type MessageFilters } from "../text/message-filters.ts";
import { MessageTable } from "./message-table.tsx";
import { usePreferences, withSimulated } from "./preferences.tsx";
import { Loaded } from "./states.tsx";
import { useText } from "./use-text.ts";

type Messages = UseInfiniteQueryResult<InfiniteData<MessagePage>>;

/** The messages of a question, page by page. A new question aborts the one before, also when that is slow. */
export function useMessages({ columns: _columns, ...question }: MessageFilters): Messages {
  const { simulated } = usePreferences();
  return useInfiniteQuery({
    queryKey: ["messages", question, simulated],
    queryFn: ({ pageParam, signal }) => {
      const query = withSimulated(apiQuery({ ...question, columns: "" }, Date.now()), simulated);
      if (pageParam !== "") query.set("cursor", pageParam);
      return api<MessagePage>("GET", `/api/messages?${query.toString()}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
  });
}

interface MessageListProps {
  list: Messages;
  columns: readonly Column[];
  /** What stands there when nothing was found. */
  nothing: ReactNode;
}

export function MessageList({ list, columns, nothing }: MessageListProps): ReactNode {
  const text = useText();
  const messages = list.data?.pages.flatMap((page) => page.messages);
  return (
    <>
      <Loaded data={messages} error={list.error} again={() => void list.refetch()} rows={10}>
        {(rows) =>
          rows.length === 0 ? (
            nothing
          ) : (
            <MessageTable messages={rows} columns={columns} text={text} isOld={list.isPlaceholderData} />
          )
        }
      </Loaded>
      {list.hasNextPage ? (
        <Button variant="default" mt={16} loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {text.t("messages.more")}
        </Button>
      ) : null}
    </>
  );
}
