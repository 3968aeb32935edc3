// The vector reader: a case is compared by each kind whose fields it has, or refused with the place
// that is wrong. Whatever a vector asks, the recomputation has no fault of its own.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/cpu/state_copy_cpu.h"
#include "sessions/conformance/conformance.h"
#include "sessions/conformance/recognise.h"
#include "sessions/conformance/vector_states.h"
#include "sessions/text/json_reader.h"
#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

namespace hybridscope::test::vector_target {
namespace {

// Could it be read as a vector of this kind?
bool check(const VectorKind& kind, const nlohmann::json& vector) {
  try {
    const auto difference = check_vector(kind, vector, {.execute_copies = &execute_copies},
                                         {.release = kNewestRelease});
    if (difference)
      expect(!difference->got.starts_with("internal error"), kind.name, difference->got);
    return true;
  } catch (const JsonFault& error) {
    expect_one_line(error.what(), "");
    expect(error.pointer().empty() || error.pointer().starts_with("/"), "an RFC 6901 pointer",
           error.pointer());
    return false;
  }
}

// Sizes that are allowed, but whose answer takes seconds to write down. Larger ones are refused.
bool takes_long(const nlohmann::json& value) {
  if (value.is_number_integer())
    return value > kMaxVectorElements / 256 && value <= kMaxVectorElements;
  return value.is_structured() && std::any_of(value.begin(), value.end(), takes_long);
}

// Was it a vector of some kind?
bool read(std::string_view text) {
  const auto vector = parse_json({.text = text, .file = "v.jsonl"});
  if (!vector.ok()) {
    expect_one_line(vector.error().message, "v.jsonl:");
    return false;
  }
  const auto recognised = recognise_by_fields(std::span(&vector.value(), 1));
  if (!recognised.ok()) expect_one_line(recognised.error().message, "");
  if (takes_long(vector.value())) return false;
  bool read = false;
  for (const VectorKind& kind : vector_kinds()) read = check(kind, vector.value()) || read;
  return read;
}

}  // namespace
}  // namespace hybridscope::test::vector_target

namespace hybridscope::test {

void fuzz_vector(std::string_view text) { note_read(text, vector_target::read(text)); }

}  // namespace hybridscope::test
