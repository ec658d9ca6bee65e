// One program, many modes: the first argument says which.
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

static std::vector<std::string> words;

static void read_numbers()
{
        long count = 0, sum = 0, number;

        for (; std::cin >> number; count++)
                sum += number;
        std::cout << count << " lines, sum " << sum << "\n";
}

static void use_files()
{
        std::ofstream("made.txt") << "one\n";
        std::ofstream("made.txt", std::ios::app) << "two\n";
        std::cout << std::ifstream("made.txt").rdbuf();
}

static void fill_memory()
{
        std::vector<std::vector<char>> kept;

        while (true)
                kept.emplace_back(1 << 20, 'x');
}

static long count_characters(const std::string &text)
{
        long count = 0;

        for (char c : text)
                count += (c & 0xc0) != 0x80;
        return count;
}

static void loop()
{
        for (volatile int i = 0;; i = i + 1)
                ;
}

int main(int argc, char **argv)
{
        words.assign(argv + 2, argv + argc);
        const std::map<std::string, std::function<void()>> modes = {
                { "args", [] { for (auto &word : words) std::cout << "[" << word << "]\n"; } },
                { "stdin", read_numbers },
                { "files", use_files },
                { "exit", [] { std::exit(7); } },
                { "uncaught", [] { throw std::runtime_error("deliberate"); } },
                { "forever", loop },
                { "memory", fill_memory },
                { "unicode", [] { std::cout << "Grüße, 世界 🌍 " << words[0] << " " << count_characters(words[0]) << "\n"; } },
                { "big", [] { for (int i = 0; i < 40000; i++) std::cout << std::string(63, 'x') << "\n"; } },
        };
        modes.at(argv[1])();
}
