// libFuzzer's mutator of JSON documents, of lines of JSON, and of other text with numbers. Byte
// mutations mostly break the syntax, so mostly values are changed instead, and mostly to values
// that a reader accepts: a number to one near it, a text to another text of the same member. Three
// of four times what is changed is an input that the reader accepted.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/accepted_inputs.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using nlohmann::json;

using Random = std::minstd_rand;

std::size_t pick(Random& random, std::size_t count) { return random() % count; }
bool one_in(Random& random, std::size_t count) { return pick(random, count) == 0; }

// A value and the member that it is, or is inside of.
struct Place {
  json* value = nullptr;
  std::string member;
};

void collect(json& value, const std::string& member, std::vector<Place>& places) {
  places.push_back({&value, member});
  if (value.is_array())
    for (json& child : value) collect(child, member, places);
  if (value.is_object())
    for (auto child = value.begin(); child != value.end(); ++child)
      collect(*child, child.key(), places);
}

std::vector<Place> places_of(json& document) {
  std::vector<Place> places;
  collect(document, "", places);
  return places;
}

json edge_value(Random& random) {
  static const json kEdges = json::parse(
      "[0, 1, 2, 3, 4, 7, 8, 16, -1, 255, 65536, 16777216, 2147483647, -2147483648,"
      " 2147483648, 4294967296, 9223372036854775807, -9223372036854775808,"
      " 18446744073709551615, 0.5, -0.0, 1e308, null, true, false, \"\", [], {}]");
  return kEdges[pick(random, kEdges.size())];
}

// Near the old one, and not below 0 where that was not. Wraps around like the numbers of a reader
// that counts too far.
json near_number(Random& random, const json& old) {
  if (old.is_number_float()) return old.get<double>() * (one_in(random, 2) ? 0.5 : 1.5);
  const auto number = old.get<std::uint64_t>();
  const bool is_negative = old.get<std::int64_t>() < 0 && !old.is_number_unsigned();
  std::uint64_t near = number;
  switch (pick(random, 4)) {
    case 0: near = number / 2; break;
    case 1: near = number * 2; break;
    default: near = number + pick(random, 9) - 4;
  }
  const auto result = static_cast<std::int64_t>(near);
  if (is_negative) return static_cast<std::int64_t>(number) + 1;
  return result < 0 ? json(number) : json(result);
}

// A value of the same type, under a member of the same name, of either document; null: none.
const json* value_like(Random& random, const Place& place, std::vector<Place>& all) {
  std::vector<const json*> found;
  for (const Place& other : all)
    if (other.member == place.member && other.value->type() == place.value->type() &&
        *other.value != *place.value)
      found.push_back(other.value);
  return found.empty() ? nullptr : found[pick(random, found.size())];
}

void erase_or_double(Random& random, json& value) {
  if (!value.is_structured() || value.empty()) return;
  const auto at = std::next(value.begin(), static_cast<std::ptrdiff_t>(pick(random, value.size())));
  if (value.is_array() && one_in(random, 2))
    value.insert(at, json(*at));
  else
    value.erase(at);
}

// What readers get wrong: another type, a number from beyond a limit, a member too few.
void spoil(Random& random, const std::vector<Place>& places) {
  json& value = *places[pick(random, places.size())].value;
  if (one_in(random, 3))
    value = json(*places[pick(random, places.size())].value);
  else if (one_in(random, 2))
    erase_or_double(random, value);
  else
    value = edge_value(random);
}

void change(Random& random, json& document, json& other) {
  std::vector<Place> places = places_of(document);
  if (one_in(random, 12)) return spoil(random, places);
  const Place place = places[pick(random, places.size())];
  if (place.value->is_boolean()) {
    *place.value = !place.value->get<bool>();
  } else if (place.value->is_number() && !one_in(random, 4)) {
    *place.value = near_number(random, *place.value);
  } else {
    collect(other, "", places);
    if (const json* like = value_like(random, place, places); like != nullptr)
      *place.value = json(*like);
    else if (place.value->is_array())
      erase_or_double(random, *place.value);
  }
}

// An accepted input, or the first line of one, for its values.
json another_document(Random& random) {
  const std::string_view text = hybridscope::test::accepted_input(random());
  json whole = json::parse(text, nullptr, false);
  if (!whole.is_discarded()) return whole;
  whole = json::parse(text.substr(0, text.find('\n')), nullptr, false);
  return whole.is_discarded() ? json() : whole;
}

// The document changed, empty when it is no JSON.
std::string changed(Random& random, std::string_view text) {
  json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) return {};
  json other = another_document(random);
  for (std::size_t changes = one_in(random, 4) ? 3 : 1; changes > 0; --changes)
    change(random, document, other);
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

// One of the numbers of a text that is no JSON.
std::string number_changed(Random& random, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  if (text.empty()) return {};
  const std::size_t somewhere = pick(random, text.size());
  const std::size_t first = text.find_first_of(kDigits, somewhere);
  if (first == text.npos) return {};
  const std::size_t end = std::min(text.find_first_not_of(kDigits, first), text.size());
  const std::size_t length = std::min<std::size_t>(end - first, 9);
  const auto number =
      static_cast<std::int64_t>(std::stoll(std::string(text.substr(first, length))));
  const std::int64_t near = std::max<std::int64_t>(
      0, one_in(random, 4) ? number * 2 : number + static_cast<std::int64_t>(pick(random, 9)) - 4);
  return std::string(text.substr(0, first)) + std::to_string(near) +
         std::string(text.substr(first + length));
}

// One line changed, doubled or left out; the first, a header, only changed.
std::string line_changed(Random& random, std::string_view text) {
  const std::size_t somewhere = pick(random, text.size());
  const std::size_t begin = text.rfind('\n', somewhere == 0 ? 0 : somewhere - 1) + 1;
  const std::size_t first = begin > somewhere ? 0 : begin;
  const std::size_t last = std::min(text.find('\n', somewhere), text.size());
  const std::string_view line = text.substr(first, last - first);
  std::string middle = changed(random, line);
  if (middle.empty()) middle = number_changed(random, line);
  if (middle.empty()) return {};
  const std::size_t choice = first == 0 ? 2 : pick(random, 16);
  if (choice == 0) middle = std::string(line) + "\n" + middle;
  if (choice == 1) middle.clear();
  return std::string(text.substr(0, first)) + middle + std::string(text.substr(last));
}

// A document before the first zero byte, and bytes behind it (fuzz_weights.cpp).
std::string part_changed(Random& random, std::string_view input) {
  const std::size_t zero = input.find('\0');
  if (zero == input.npos || one_in(random, 2)) {
    const std::string_view text = input.substr(0, zero);
    std::string result = changed(random, text);
    if (result.empty() && !text.empty()) result = line_changed(random, text);
    if (result.empty() || zero == input.npos) return result;
    return result + std::string(input.substr(zero));
  }
  // In the last quarter stands what the head describes.
  std::string result(input);
  const std::size_t rest = std::max<std::size_t>(1, (input.size() - zero) / 4);
  result[input.size() - 1 - pick(random, rest)] = static_cast<char>(pick(random, 256));
  return result;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  Random random(seed);
  if (const std::string_view base = hybridscope::test::accepted_input(random());
      !base.empty() && base.size() <= max_size && !one_in(random, 4)) {
    std::copy(base.begin(), base.end(), data);
    size = base.size();
  }
  if (size == 0 || one_in(random, 16)) return LLVMFuzzerMutate(data, size, max_size);
  const std::string result = part_changed(random, {reinterpret_cast<const char*>(data), size});
  if (result.empty() || result.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(result.begin(), result.end(), data);
  return result.size();
}

// libFuzzer's entry point: HYBRIDSCOPE_FUZZED is the function of one reader, fuzz_NAME.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hybridscope::test::HYBRIDSCOPE_FUZZED({reinterpret_cast<const char*>(data), size});
  return 0;
}
