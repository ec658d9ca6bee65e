import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What is no JSON. */
class Wrong extends RuntimeException {
    Wrong(String why) {
        super(why);
    }
}

/** A JSON reader by hand. */
class Reader {
    private final String text;
    private int at;

    Reader(String text) {
        this.text = text;
    }

    char peek() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at)))
            at++;
        return at < text.length() ? text.charAt(at) : '\0';
    }

    void take(char wanted) {
        if (peek() != wanted)
            throw new Wrong("expected " + wanted + " at " + at);
        at++;
    }

    Object value() {
        switch (peek()) {
            case '{': return members();
            case '[': return items();
            case '"': return string();
            default: break;
        }
        for (String word : List.of("true", "false", "null"))
            if (text.startsWith(word, at)) {
                at += word.length();
                return word.equals("null") ? null : (Object) Boolean.valueOf(word);
            }
        return number();
    }

    private Map<String, Object> members() {
        Map<String, Object> found = new TreeMap<>();
        take('{');
        while (peek() != '}') {
            if (!found.isEmpty())
                take(',');
            String key = string();
            take(':');
            found.put(key, value());
        }
        take('}');
        return found;
    }

    private List<Object> items() {
        List<Object> found = new ArrayList<>();
        take('[');
        while (peek() != ']') {
            if (!found.isEmpty())
                take(',');
            found.add(value());
        }
        take(']');
        return found;
    }

    private char next() {
        if (at >= text.length())
            throw new Wrong("a string does not end");
        return text.charAt(at++);
    }

    private String string() {
        var out = new StringBuilder();
        take('"');
        for (char c; (c = next()) != '"';) {
            if (c == '\\') {
                c = next();
                if (c == 'u') {
                    c = (char) Integer.parseInt(text.substring(at, at + 4), 16);
                    at += 4;
                } else {
                    c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
                }
            }
            out.append(c);
        }
        return out.toString();
    }

    private Double number() {
        int start = at;
        while (at < text.length() && "+-0123456789.eE".indexOf(text.charAt(at)) >= 0)
            at++;
        try {
            return Double.valueOf(text.substring(start, at));
        } catch (NumberFormatException e) {
            throw new Wrong("no value at " + start);
        }
    }
}

public class RoundTrip {
    static Object read(String text) {
        var reader = new Reader(text);
        Object value = reader.value();
        if (reader.peek() != '\0')
            throw new Wrong("something follows");
        return value;
    }

    static String quote(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n").replace("\t", "\\t") + '"';
    }

    static String write(Object value) {
        if (value instanceof Map<?, ?>)
            return ((Map<?, ?>) value).entrySet().stream()
                    .map(entry -> quote((String) entry.getKey()) + ":" + write(entry.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        if (value instanceof List<?>)
            return ((List<?>) value).stream().map(RoundTrip::write).collect(Collectors.joining(",", "[", "]"));
        if (value instanceof String)
            return quote((String) value);
        if (value instanceof Double && (Double) value == Math.rint((Double) value))
            return Long.toString(((Double) value).longValue());
        return String.valueOf(value);
    }

    static void count(Object value, int depth, Map<String, Integer> totals) {
        String kind = value instanceof Map ? "objects" : value instanceof List ? "arrays"
                : value instanceof String ? "strings" : value instanceof Double ? "numbers" : "literals";
        totals.merge(kind, 1, Integer::sum);
        if (!(value instanceof Map) && !(value instanceof List))
            return;
        totals.merge("depth", depth, Math::max);
        var items = value instanceof Map ? ((Map<?, ?>) value).values() : (List<?>) value;
        for (Object item : items)
            count(item, depth + 1, totals);
    }

    static boolean isRejected(String text) {
        try {
            read(text);
            return false;
        } catch (Wrong e) {
            return true;
        }
    }

    public static void main(String[] args) throws Exception {
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Object document = read(new String(System.in.readAllBytes(), StandardCharsets.UTF_8));
        String canonical = write(document);
        Map<String, Integer> totals = new LinkedHashMap<>();
        for (String name : List.of("objects", "arrays", "strings", "numbers", "literals", "depth"))
            totals.put(name, 0);
        count(document, 1, totals);
        out.println(canonical);
        out.println(totals.entrySet().stream().map(Object::toString).collect(Collectors.joining(" ")));
        boolean isSame = read(canonical).equals(document) && write(read(canonical)).equals(canonical);
        out.println("round trip " + (isSame ? "ok" : "broken"));
        out.println("rejected " + Stream.of("{", "[1,]", "{\"a\" 1}").filter(RoundTrip::isRejected).count() + " of 3");
    }
}
