-- A JSON reader and writer by hand, checked against itself.
local null = setmetatable({}, { __tostring = function() return "null" end })
local list = {} -- the metatable that tells an array from an object

local Reader = {}
Reader.__index = Reader

function Reader.new(text)
  return setmetatable({ text = text, at = 1 }, Reader)
end

function Reader:wrong(why)
  error({ wrong = why .. " at " .. self.at })
end

function Reader:peek()
  self.at = self.text:find("[^ \t\r\n]", self.at) or #self.text + 1
  return self.text:sub(self.at, self.at)
end

function Reader:take(wanted)
  if self:peek() ~= wanted then self:wrong("expected " .. wanted) end
  self.at = self.at + 1
end

local literals = { { "true", true }, { "false", false }, { "null", null } }

function Reader:value()
  local first = self:peek()
  if first == "{" then return self:members() end
  if first == "[" then return self:items() end
  if first == '"' then return self:string() end
  for _, literal in ipairs(literals) do
    local word, meaning = table.unpack(literal)
    if self.text:sub(self.at, self.at + #word - 1) == word then
      self.at = self.at + #word
      return meaning
    end
  end
  return self:number()
end

function Reader:members()
  local found = {}
  self:take("{")
  while self:peek() ~= "}" do
    if next(found) ~= nil then self:take(",") end
    local key = self:string()
    self:take(":")
    found[key] = self:value()
  end
  self:take("}")
  return found
end

function Reader:items()
  local found = setmetatable({}, list)
  self:take("[")
  while self:peek() ~= "]" do
    if #found > 0 then self:take(",") end
    found[#found + 1] = self:value()
  end
  self:take("]")
  return found
end

local escapes = { n = "\n", t = "\t", r = "\r", b = "\b", f = "\f" }

function Reader:string()
  local out = {}
  self:take('"')
  while true do
    local char = self.text:sub(self.at, self.at)
    self.at = self.at + 1
    if char == "" then self:wrong("a string does not end") end
    if char == '"' then return table.concat(out) end
    if char == "\\" then
      local escape = self.text:sub(self.at, self.at)
      self.at = self.at + 1
      if escape == "u" then
        char = utf8.char(tonumber(self.text:sub(self.at, self.at + 3), 16))
        self.at = self.at + 4
      else
        char = escapes[escape] or escape
      end
    end
    out[#out + 1] = char
  end
end

function Reader:number()
  local word = self.text:match("^[-+0-9.eE]+", self.at)
  local number = word and tonumber(word)
  if not number then self:wrong("no value") end
  self.at = self.at + #word
  return number
end

local function read(text)
  local reader = Reader.new(text)
  local value = reader:value()
  if reader:peek() ~= "" then reader:wrong("something follows") end
  return value
end

local marks = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n", ["\t"] = "\\t" }

local function quote(text)
  return '"' .. text:gsub('[\\"\n\t]', marks) .. '"'
end

local function kind(value)
  if type(value) ~= "table" or value == null then
    return ({ string = "strings", number = "numbers" })[type(value)] or "literals"
  end
  return getmetatable(value) == list and "arrays" or "objects"
end

local function write(value)
  local of, parts = kind(value), {}
  if of == "strings" then return quote(value) end
  if of == "arrays" then
    for i, item in ipairs(value) do parts[i] = write(item) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  if of ~= "objects" then return tostring(value) end
  for key, item in pairs(value) do parts[#parts + 1] = quote(key) .. ":" .. write(item) end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

local function count(value, totals, depth)
  local of = kind(value)
  totals[of] = totals[of] + 1
  if of ~= "objects" and of ~= "arrays" then return end
  totals.depth = math.max(totals.depth, depth)
  for _, item in pairs(value) do count(item, totals, depth + 1) end
end

local document = read(io.read("a"))
local canonical = write(document)
local names = { "objects", "arrays", "strings", "numbers", "literals", "depth" }
local totals, words = {}, {}
for _, name in ipairs(names) do totals[name] = 0 end
count(document, totals, 1)
for i, name in ipairs(names) do words[i] = name .. "=" .. totals[name] end
print(canonical)
print(table.concat(words, " "))
print("round trip " .. (write(read(canonical)) == canonical and "ok" or "broken"))
local rejected = 0
for _, text in ipairs({ "{", "[1,]", '{"a" 1}' }) do
  local ok, why = pcall(read, text)
  if not ok and why.wrong then rejected = rejected + 1 end
end
print(("rejected %d of 3"):format(rejected))
