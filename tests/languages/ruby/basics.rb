# One program, many modes: the first argument says which.
mode, *words = ARGV

case mode
when "args"
  words.each { |word| puts "[#{word}]" }
when "stdin"
  numbers = $stdin.each_line.map(&:to_i)
  puts "#{numbers.size} lines, sum #{numbers.sum}"
when "files"
  File.write("made.txt", "one\n")
  File.open("made.txt", "a") { |made| made.puts "two" }
  print File.read("made.txt")
when "exit"
  exit 7
when "uncaught"
  raise "deliberate"
when "forever"
  loop {}
when "memory"
  kept = []
  loop { kept << "x" * (1 << 20) }
when "unicode"
  puts "Grüße, 世界 🌍 #{words[0]} #{words[0].length}"
when "big"
  40_000.times { puts "x" * 63 }
end
