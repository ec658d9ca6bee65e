-- One program, many modes: the first argument says which.
local modes = {}

function modes.args()
  for i = 2, #arg do print("[" .. arg[i] .. "]") end
end

function modes.stdin()
  local count, sum = 0, 0
  for line in io.lines() do
    count, sum = count + 1, sum + math.tointeger(line)
  end
  print(string.format("%d lines, sum %d", count, sum))
end

function modes.files()
  for mode, text in pairs({ w = "one\n" }) do
    local made = assert(io.open("made.txt", mode))
    made:write(text)
    made:close()
  end
  local made = assert(io.open("made.txt", "a"))
  made:write("two\n")
  made:close()
  for line in io.lines("made.txt") do print(line) end
end

function modes.exit() os.exit(7) end

function modes.uncaught() error("deliberate") end

function modes.forever() while true do end end

function modes.memory()
  local kept = {}
  while true do kept[#kept + 1] = string.rep("x", 1 << 20) .. #kept end
end

function modes.unicode() print("Grüße, 世界 🌍 " .. arg[2] .. " " .. utf8.len(arg[2])) end

function modes.big()
  for _ = 1, 40000 do print(string.rep("x", 63)) end
end

modes[arg[1]]()
