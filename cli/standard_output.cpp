#include "cli/standard_output.h"

#include <fmt/format.h>

#include <algorithm>

namespace hybridscope {
namespace {

bool is_there(const OutputTarget& output) { return output.path == "-"; }

}  // namespace

Status check_one_document(std::initializer_list<OutputTarget> outputs) {
  const OutputTarget* const first = std::ranges::find_if(outputs, is_there);
  if (first == outputs.end()) return Ok{};
  const OutputTarget* const second = std::find_if(first + 1, outputs.end(), is_there);
  if (second == outputs.end()) return Ok{};
  return invalid_input(fmt::format("{} and {} would both be on standard output: give one a FILE",
                                   first->option, second->option));
}

std::FILE* text_stream(std::initializer_list<OutputTarget> outputs) {
  return std::ranges::any_of(outputs, is_there) ? stderr : stdout;
}

}  // namespace hybridscope
