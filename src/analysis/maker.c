/* JavaScript's Function, which makes functions of text, is the constructor of each function. */
#include "analysis/analysis.h"

#include <string.h>

static const char maker[] = "constructor";

/* A function of the program's own has a text in a language whose functions are objects. */
struct value maker_function(const struct unit *unit)
{
        const char *text = unit->grammar->calls_by_method ? "function" : "";

        return (struct value){ VALUE_LOCAL, false, text, strlen(text) };
}

static bool is_member(struct value object, const char *member, size_t length, const char *name)
{
        return object.kind == VALUE_LOCAL && object.length > 0 && length == strlen(name) &&
               memcmp(member, name, length) == 0;
}

bool maker_is_member(struct value object, const char *member, size_t length)
{
        return is_member(object, member, length, maker);
}

bool maker_is_prototype(struct value object, const char *member, size_t length)
{
        return is_member(object, member, length, "__proto__");
}

/* Whether what the call gives is called. */
static bool is_called(const struct unit *unit, TSNode node)
{
        TSNode around = ts_node_parent(node);

        return unit_role(unit, around) == ROLE_CALL &&
               ts_node_eq(unit_field(unit, around, 0), node);
}

/* x.constructor("code") and x.constructor(code)() make a function of the text, whatever x is: they
 * would be of no use with what else has a constructor. */
struct value maker_called(struct analysis *analysis, const struct unit *unit, TSNode node,
                          struct value function, TSNode arguments)
{
        size_t length = sizeof(maker) - 1;
        const char *last;

        if (!unit->grammar->calls_by_method || function.kind != VALUE_NAME ||
            function.length <= length || !unit_is(node, "call_expression"))
                return function;
        last = function.text + function.length - length;
        if (last[-1] != '.' || memcmp(last, maker, length) != 0)
                return function;
        if (value_of(analysis, unit, known_argument(unit, arguments, 0)).kind != VALUE_TEXT &&
            !is_called(unit, node))
                return function;
        return value_name(analysis, unit, "Function", strlen("Function"), true);
}
