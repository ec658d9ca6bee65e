// A JSON reader and writer by hand, checked against itself.
#include <algorithm>
#include <cctype>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

struct Wrong : std::runtime_error {
        using std::runtime_error::runtime_error;
};

struct Value;
using Array = std::vector<Value>;
using Object = std::map<std::string, Value>;

// A number is kept as it was written.
struct Number {
        std::string text;
};

struct Literal {
        std::string text;
};

struct Value {
        std::variant<Literal, Number, std::string, std::shared_ptr<Array>, std::shared_ptr<Object>> of;
};

class Reader {
    public:
        explicit Reader(const std::string &text) : text_(text)
        {
        }

        Value whole()
        {
                Value found = value();

                if (peek())
                        throw Wrong("something follows");
                return found;
        }

    private:
        char peek()
        {
                while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
                        at_++;
                return at_ < text_.size() ? text_[at_] : '\0';
        }

        void take(char wanted)
        {
                if (peek() != wanted)
                        throw Wrong("expected " + std::string(1, wanted) + " at " + std::to_string(at_));
                at_++;
        }

        Value value()
        {
                switch (peek()) {
                case '{':
                        return { members() };
                case '[':
                        return { items() };
                case '"':
                        return { string() };
                }
                for (const char *word : { "true", "false", "null" })
                        if (text_.compare(at_, std::char_traits<char>::length(word), word) == 0) {
                                at_ += std::char_traits<char>::length(word);
                                return { Literal{ word } };
                        }
                return { number() };
        }

        std::shared_ptr<Object> members()
        {
                auto found = std::make_shared<Object>();

                for (take('{'); peek() != '}';) {
                        if (!found->empty())
                                take(',');
                        auto key = string();
                        take(':');
                        found->emplace(key, value());
                }
                take('}');
                return found;
        }

        std::shared_ptr<Array> items()
        {
                auto found = std::make_shared<Array>();

                for (take('['); peek() != ']';) {
                        if (!found->empty())
                                take(',');
                        found->push_back(value());
                }
                take(']');
                return found;
        }

        std::string string()
        {
                std::string out;

                for (take('"'); text_.at(at_) != '"'; at_++) {
                        if (text_[at_] != '\\')
                                out += text_[at_];
                        else if (text_.at(++at_) == 'u')
                                add_escaped(out);
                        else
                                out += text_[at_] == 'n' ? '\n' : text_[at_] == 't' ? '\t' : text_[at_];
                }
                at_++;
                return out;
        }

        void add_escaped(std::string &out)
        {
                auto code = std::stoul(text_.substr(at_ + 1, 4), nullptr, 16);

                if (code >= 0x800)
                        out += { char(0xe0 | code >> 12), char(0x80 | (code >> 6 & 0x3f)), char(0x80 | (code & 0x3f)) };
                else if (code >= 0x80)
                        out += { char(0xc0 | code >> 6), char(0x80 | (code & 0x3f)) };
                else
                        out += char(code);
                at_ += 4;
        }

        Number number()
        {
                auto end = text_.find_first_not_of("+-0123456789.eE", at_);
                auto word = text_.substr(at_, end - at_);

                if (word.empty())
                        throw Wrong("no value at " + std::to_string(at_));
                at_ += word.size();
                return { word };
        }

        const std::string &text_;
        std::size_t at_ = 0;
};

static std::string quote(const std::string &text)
{
        std::string out = "\"";

        for (char c : text) {
                if (c == '\\' || c == '"' || c == '\n' || c == '\t')
                        out += '\\';
                out += c == '\n' ? 'n' : c == '\t' ? 't' : c;
        }
        return out + "\"";
}

struct Writer {
        std::string operator()(const Literal &literal) const { return literal.text; }
        std::string operator()(const Number &number) const { return number.text; }
        std::string operator()(const std::string &text) const { return quote(text); }
        std::string operator()(const std::shared_ptr<Array> &items) const
        {
                std::string out;

                for (auto &item : *items)
                        out += (out.empty() ? "" : ",") + std::visit(*this, item.of);
                return "[" + out + "]";
        }
        std::string operator()(const std::shared_ptr<Object> &members) const
        {
                std::string out;

                for (auto &[key, value] : *members)
                        out += (out.empty() ? "" : ",") + quote(key) + ":" + std::visit(*this, value.of);
                return "{" + out + "}";
        }
};

static void count(const Value &value, int depth, std::map<std::string, int> &totals)
{
        static const char *const kinds[] = { "literals", "numbers", "strings", "arrays", "objects" };

        totals[kinds[value.of.index()]]++;
        if (value.of.index() >= 3)
                totals["depth"] = std::max(totals["depth"], depth);
        if (auto items = std::get_if<std::shared_ptr<Array>>(&value.of))
                for (auto &item : **items)
                        count(item, depth + 1, totals);
        if (auto members = std::get_if<std::shared_ptr<Object>>(&value.of))
                for (auto &member : **members)
                        count(member.second, depth + 1, totals);
}

static bool is_rejected(const std::string &text)
{
        try {
                Reader(text).whole();
        } catch (const Wrong &) {
                return true;
        }
        return false;
}

int main()
{
        std::string source(std::istreambuf_iterator<char>(std::cin), {});
        Value document = Reader(source).whole();
        std::string canonical = std::visit(Writer(), document.of);
        std::string again = std::visit(Writer(), Reader(canonical).whole().of);
        std::vector<std::string> broken = { "{", "[1,]", "{\"a\" 1}" };
        std::map<std::string, int> totals;
        const char *separator = "";

        count(document, 1, totals);
        std::cout << canonical << "\n";
        for (auto name : { "objects", "arrays", "strings", "numbers", "literals", "depth" }) {
                std::cout << separator << name << "=" << totals[name];
                separator = " ";
        }
        std::cout << "\nround trip " << (again == canonical ? "ok" : "broken") << "\nrejected "
                  << std::count_if(broken.begin(), broken.end(), is_rejected) << " of 3\n";
}
