// libFuzzer's mutator of JSON documents. Byte mutations mostly break the syntax; half of the time
// one value of the document is changed instead: to a number that readers get wrong, to another
// value of the same document, or away.
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using nlohmann::json;

using Random = std::minstd_rand;

std::size_t pick(Random& random, std::size_t count) { return random() % count; }

void collect(json& value, std::vector<json*>& values) {
  values.push_back(&value);
  if (!value.is_structured()) return;
  for (json& child : value) collect(child, values);
}

json edge_value(Random& random, const json& old) {
  static const json kEdges = json::parse(
      "[0, 1, 2, 3, 4, 7, 8, 16, -1, 255, 65536, 16777216, 2147483647, -2147483648,"
      " 2147483648, 4294967296, 9223372036854775807, -9223372036854775808,"
      " 18446744073709551615, 0.5, -0.0, 1e308, null, true, false, \"\", [], {}]");
  if (old.is_number_integer() && pick(random, 2) == 0) {
    const auto step = static_cast<std::int64_t>(pick(random, 9)) - 4;
    return static_cast<std::int64_t>(old.get<std::uint64_t>() + static_cast<std::uint64_t>(step));
  }
  return kEdges[pick(random, kEdges.size())];
}

void erase_or_double(Random& random, json& value) {
  if (!value.is_structured() || value.empty()) return;
  const auto at = std::next(value.begin(), static_cast<std::ptrdiff_t>(pick(random, value.size())));
  if (value.is_array() && pick(random, 2) == 0)
    value.insert(at, json(*at));
  else
    value.erase(at);
}

void change(Random& random, json& document) {
  std::vector<json*> values;
  collect(document, values);
  json& value = *values[pick(random, values.size())];
  switch (pick(random, 4)) {
    case 0:
      value = json(*values[pick(random, values.size())]);
      break;
    case 1:
      erase_or_double(random, value);
      break;
    default:
      value = edge_value(random, value);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  Random random(seed);
  if (pick(random, 2) == 0) return LLVMFuzzerMutate(data, size, max_size);
  json document = json::parse(data, data + size, nullptr, false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, max_size);
  for (std::size_t changes = 1 + pick(random, 3); changes > 0; --changes) change(random, document);
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(text.begin(), text.end(), reinterpret_cast<char*>(data));
  return text.size();
}
