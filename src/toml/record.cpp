#include "record.h"

#define TOML_EXCEPTIONS        0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace
{

struct entry {
        const toml::key *key;
        const toml::node *value;
};

void add_event(std::string &out, char type, toml::source_position place,
               std::string_view bytes = {})
{
        out += type;
        /* A table that no line opens has no place of its own. */
        for (size_t number : { size_t{ std::max(place.line, 1u) },
                               size_t{ std::max(place.column, 1u) }, bytes.size() }) {
                out += ' ';
                out += std::to_string(number);
        }
        out += '\n';
        out += bytes;
        out += '\n';
}

/* As YAML writes it: the shortest text that means the number, with its point. */
std::string float_text(double number)
{
        char text[64];
        const auto end = std::to_chars(text, text + sizeof(text), number).ptr;
        std::string result(text, end);

        if (result.find_first_of(".en") == std::string::npos)
                result += ".0";
        return result;
}

void add_node(std::string &out, const toml::node &node);

/* In the order of the file, so that the first mistake is the one that is told. */
void add_table(std::string &out, const toml::table &table)
{
        std::vector<entry> entries;

        for (auto &&[key, value] : table)
                entries.push_back({ &key, &value });
        std::stable_sort(entries.begin(), entries.end(), [](const entry &a, const entry &b) {
                const auto &x = a.key->source().begin, &y = b.key->source().begin;

                return x.line != y.line ? x.line < y.line : x.column < y.column;
        });
        add_event(out, '{', table.source().begin);
        for (const entry &entry : entries) {
                add_event(out, 's', entry.key->source().begin, entry.key->str());
                add_node(out, *entry.value);
        }
        add_event(out, '}', table.source().end);
}

void add_node(std::string &out, const toml::node &node)
{
        const auto place = node.source().begin;

        if (const auto *table = node.as_table()) {
                add_table(out, *table);
        } else if (const auto *array = node.as_array()) {
                add_event(out, '[', place);
                for (const toml::node &item : *array)
                        add_node(out, item);
                add_event(out, ']', node.source().end);
        } else if (const auto *text = node.as_string()) {
                add_event(out, 's', place, text->get());
        } else if (const auto *integer = node.as_integer()) {
                add_event(out, 'v', place, std::to_string(integer->get()));
        } else if (const auto *number = node.as_floating_point()) {
                add_event(out, 'v', place, float_text(number->get()));
        } else if (const auto *boolean = node.as_boolean()) {
                add_event(out, 'v', place, boolean->get() ? "true" : "false");
        } else {
                add_event(out, '!', place, "a date or time has no place in a policy");
        }
}

/* One line, whatever of the text the library quotes in it. */
std::string message_of(const toml::parse_error &error)
{
        std::string text(error.description());

        if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z')
                text[0] = static_cast<char>(text[0] - 'A' + 'a');
        text.insert(0, "not TOML: ");
        for (char &c : text)
                if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
                        c = '?';
        return text.substr(0, 400);
}

} /* namespace */

std::string toml_record(std::string_view text)
{
        std::string out;
        const toml::parse_result result = toml::parse(text);

        if (result) {
                add_table(out, result.table());
                add_event(out, '.', {});
        } else {
                add_event(out, '!', result.error().source().begin, message_of(result.error()));
        }
        return out;
}
