/* Files that a call made: images as content, others as links, all in the result. */
#ifndef MCP_MEDIA_H
#define MCP_MEDIA_H

#include "mcp/session.h"

/* "sandbox://session/ID/path", with what is no plain letter escaped. Caller frees. */
char *media_uri(const char *session_id, const char *path);
/* The address taken apart; both are the caller's to free. False: it is none of ours. */
bool media_parse_uri(const char *uri, char **ret_id, char **ret_path);
/* Images among the files of a folder. */
void media_add_images(struct answer *answer, int folder);
/* What has changed in a workspace between two lists: told in `result`; images as content; links to
 * the rest, where the revision knows them. */
void media_add_changes(struct call *call, const struct session *session,
                       const struct workspace_list *before, struct answer *answer, json_t *result);

#endif
