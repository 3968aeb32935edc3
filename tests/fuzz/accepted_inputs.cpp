#include "tests/fuzz/accepted_inputs.h"

#include <cstdint>
#include <iostream>
#include <vector>

namespace hybridscope::test {
namespace {

constexpr std::size_t kKeptInputs = 512;

struct ReadInputs {
  std::uint64_t num_inputs = 0;
  std::uint64_t num_accepted = 0;
  std::vector<std::string> kept;

  ~ReadInputs() {
    std::cerr << "past the reader: " << num_accepted << " of " << num_inputs << std::endl;
  }
};

ReadInputs& read_inputs() {
  static ReadInputs inputs;
  return inputs;
}

}  // namespace

void note_read(std::string_view input, bool accepted) {
  ReadInputs& inputs = read_inputs();
  ++inputs.num_inputs;
  if (!accepted) return;
  const std::uint64_t number = inputs.num_accepted++;
  if (inputs.kept.size() < kKeptInputs) {
    inputs.kept.emplace_back(input);
    return;
  }
  // The first, which are the seeds, stay; one in eight of the others takes the place of another.
  constexpr std::size_t kSeeds = kKeptInputs / 4;
  if (number % 8 == 0) inputs.kept[kSeeds + number / 8 % (kKeptInputs - kSeeds)] = input;
}

std::string_view accepted_input(std::size_t random) {
  const std::vector<std::string>& kept = read_inputs().kept;
  return kept.empty() ? std::string_view() : kept[random % kept.size()];
}

}  // namespace hybridscope::test
