#include "tests/sessions/conformance/answer_mutations.h"

#include <algorithm>

#include "sessions/text/json_value.h"

namespace hybridscope::test {
namespace {

using nlohmann::json;

void collect(const json& value, const std::string& pointer, std::vector<AnswerMutation>& places);

void collect_object(const json& object, const std::string& pointer,
                    std::vector<AnswerMutation>& places) {
  if (object.contains("error")) return;
  for (const auto& [key, value] : object.items()) {
    const std::string child = child_pointer(pointer, key);
    places.push_back({Change::removed_member, child, child});
    collect(value, child, places);
  }
}

void collect(const json& value, const std::string& pointer, std::vector<AnswerMutation>& places) {
  if (value.is_object()) return collect_object(value, pointer, places);
  if (value.is_number()) places.push_back({Change::number, pointer, pointer});
  if (value.is_boolean()) places.push_back({Change::boolean, pointer, pointer});
  if (value.is_string()) places.push_back({Change::text, pointer, pointer});
  if (!value.is_array()) return;
  if (!value.empty()) places.push_back({Change::removed_element, pointer, pointer});
  for (std::size_t i = 0; i < value.size(); ++i)
    collect(value[i], child_pointer(pointer, i), places);
}

}  // namespace

std::vector<AnswerMutation> answer_mutations(const json& output, std::size_t limit,
                                             std::mt19937& random) {
  std::vector<AnswerMutation> places;
  collect(output, "", places);
  if (places.size() <= limit) return places;
  std::shuffle(places.begin(), places.end(), random);
  places.resize(limit);
  return places;
}

json apply_mutation(json output, const AnswerMutation& mutation) {
  const json::json_pointer pointer(mutation.pointer);
  json& place = output.at(pointer);
  switch (mutation.change) {
    case Change::number:
      place = place.get<std::int64_t>() + 1;
      break;
    case Change::boolean:
      place = !place.get<bool>();
      break;
    case Change::text:
      place = place.get<std::string>() + "x";
      break;
    case Change::removed_member:
      output.at(pointer.parent_pointer()).erase(pointer.back());
      break;
    case Change::removed_element:
      place.erase(place.size() - 1);
      break;
  }
  return output;
}

}  // namespace hybridscope::test
