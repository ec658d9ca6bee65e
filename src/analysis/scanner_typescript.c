/*
 * The external scanner of TypeScript's grammar. Its tokens are those of JavaScript's, in the same
 * order, and two more; so JavaScript's scanner, under other names, does the work. The source
 * package has no scanner that could be built by itself.
 */
#define tree_sitter_javascript_external_scanner_create      javascript_create
#define tree_sitter_javascript_external_scanner_destroy     javascript_destroy
#define tree_sitter_javascript_external_scanner_serialize   javascript_serialize
#define tree_sitter_javascript_external_scanner_deserialize javascript_deserialize
#define tree_sitter_javascript_external_scanner_scan        javascript_scan
#include SCANNER_JAVASCRIPT

/* After JavaScript's own. */
enum { FUNCTION_SIGNATURE_AUTOMATIC_SEMICOLON = JSX_TEXT + 1, ERROR_RECOVERY, TOKENS };

void *tree_sitter_typescript_external_scanner_create(void);
void tree_sitter_typescript_external_scanner_destroy(void *payload);
unsigned tree_sitter_typescript_external_scanner_serialize(void *payload, char *buffer);
void tree_sitter_typescript_external_scanner_deserialize(void *payload, const char *buffer,
                                                         unsigned length);
bool tree_sitter_typescript_external_scanner_scan(void *payload, TSLexer *lexer,
                                                  const bool *valid_symbols);

void *tree_sitter_typescript_external_scanner_create(void)
{
        return NULL;
}

void tree_sitter_typescript_external_scanner_destroy(void *payload)
{
}

unsigned tree_sitter_typescript_external_scanner_serialize(void *payload, char *buffer)
{
        return 0;
}

void tree_sitter_typescript_external_scanner_deserialize(void *payload, const char *buffer,
                                                         unsigned length)
{
}

/* A signature without a body ends where a semicolon would be put, but for a body that follows. */
static bool scan_signature_end(TSLexer *lexer, const bool *valid_symbols)
{
        bool scanned_comment = false;

        if (!scan_automatic_semicolon(lexer, !valid_symbols[LOGICAL_OR], &scanned_comment) ||
            lexer->lookahead == '{')
                return false;
        lexer->result_symbol = valid_symbols[AUTOMATIC_SEMICOLON]
                                       ? AUTOMATIC_SEMICOLON
                                       : FUNCTION_SIGNATURE_AUTOMATIC_SEMICOLON;
        return true;
}

bool tree_sitter_typescript_external_scanner_scan(void *payload, TSLexer *lexer,
                                                  const bool *valid_symbols)
{
        if (valid_symbols[FUNCTION_SIGNATURE_AUTOMATIC_SEMICOLON] &&
            !valid_symbols[ERROR_RECOVERY] && !valid_symbols[TEMPLATE_CHARS])
                return scan_signature_end(lexer, valid_symbols);
        return javascript_scan(payload, lexer, valid_symbols);
}
