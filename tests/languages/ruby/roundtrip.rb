# A JSON reader and writer by hand, checked against itself and the standard library.
require "json"

class Wrong < StandardError; end

# Reads one document.
class Reader
  LITERALS = { "true" => true, "false" => false, "null" => nil }.freeze
  ESCAPES = { "n" => "\n", "t" => "\t", "r" => "\r", "b" => "\b", "f" => "\f" }.freeze

  def initialize(text)
    @text = text
    @at = 0
  end

  def whole
    found = value
    raise Wrong, "something follows" if peek

    found
  end

  private

  def peek
    @at += 1 while @at < @text.length && " \t\r\n".include?(@text[@at])
    @text[@at]
  end

  def take(wanted)
    raise Wrong, "expected #{wanted} at #{@at}" unless peek == wanted

    @at += 1
  end

  def value
    case peek
    when "{" then members
    when "[" then items
    when '"' then string
    else literal_or_number
    end
  end

  def literal_or_number
    LITERALS.each do |word, meaning|
      next unless @text[@at, word.length] == word

      @at += word.length
      return meaning
    end
    number
  end

  def members
    found = {}
    take("{")
    until peek == "}"
      take(",") unless found.empty?
      peek
      key = string
      take(":")
      found[key] = value
    end
    take("}")
    found
  end

  def items
    found = []
    take("[")
    until peek == "]"
      take(",") unless found.empty?
      found << value
    end
    take("]")
    found
  end

  def following
    char = @text[@at] or raise Wrong, "a string does not end"
    @at += 1
    char
  end

  def string
    out = +""
    take('"')
    while (char = following) != '"'
      out << (char == "\\" ? escaped(following) : char)
    end
    out
  end

  def escaped(char)
    return ESCAPES.fetch(char, char) unless char == "u"

    @at += 4
    @text[@at - 4, 4].hex.chr(Encoding::UTF_8)
  end

  def number
    word = @text[@at..][/\A[-+0-9.eE]*/]
    raise Wrong, "no value at #{@at}" if word.empty?

    @at += word.length
    word.include?(".") ? Float(word) : Integer(word)
  end
end

def quote(text)
  marks = { "\\" => "\\\\", '"' => '\\"', "\n" => "\\n", "\t" => "\\t" }
  "\"#{text.gsub(/[\\"\n\t]/, marks)}\""
end

def write(value)
  case value
  when Hash then "{#{value.sort.map { |key, item| "#{quote(key)}:#{write(item)}" }.join(',')}}"
  when Array then "[#{value.map { |item| write(item) }.join(',')}]"
  when String then quote(value)
  when nil then "null"
  else value.to_s
  end
end

def count(value, totals, depth = 1)
  kind = case value
         when Hash then :objects
         when Array then :arrays
         when String then :strings
         when Numeric then :numbers
         else :literals
         end
  totals[kind] += 1
  return unless %i[objects arrays].include?(kind)

  totals[:depth] = [totals[:depth], depth].max
  (kind == :objects ? value.values : value).each { |item| count(item, totals, depth + 1) }
end

def rejected?(text)
  Reader.new(text).whole
  false
rescue Wrong
  true
end

source = $stdin.read
document = Reader.new(source).whole
abort "not what the standard library reads" unless document == JSON.parse(source)
canonical = write(document)
totals = %i[objects arrays strings numbers literals depth].to_h { |name| [name, 0] }
count(document, totals)
puts canonical
puts totals.map { |name, number| "#{name}=#{number}" }.join(" ")
puts "round trip #{write(Reader.new(canonical).whole) == canonical ? 'ok' : 'broken'}"
puts "rejected #{['{', '[1,]', '{"a" 1}'].count { |text| rejected?(text) }} of 3"
