#include "analysis/grammar.h"

#include <string.h>

const struct grammar *const grammars[] = {
        &grammar_python, &grammar_javascript, &grammar_typescript, &grammar_shell, &grammar_go,
        &grammar_rust,   &grammar_java,       &grammar_c,          &grammar_cpp,   NULL,
};

const struct grammar *grammar_find(const char *language)
{
        for (const struct grammar *const *grammar = grammars; *grammar; grammar++)
                if (strcmp((*grammar)->name, language) == 0)
                        return *grammar;
        return NULL;
}
