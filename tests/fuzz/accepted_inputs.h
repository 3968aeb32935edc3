// What a fuzzed reader accepted: how many inputs, and some of them, which the mutator changes into
// new ones. An input that is refused says nothing about what lies behind the reader.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hybridscope::test {

// Every target calls it once an input: did the reader accept all of it? How many it did is printed
// when the program ends.
void note_read(std::string_view input, bool accepted);

// One of those that were accepted, which `random` chooses; empty: none was.
std::string_view accepted_input(std::size_t random);

}  // namespace hybridscope::test
