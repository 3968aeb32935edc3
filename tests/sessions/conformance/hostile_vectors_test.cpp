// Checking any vector ends with an answer or a JsonFault.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <random>

#include "kernels/cpu/state_copy_cpu.h"
#include "sessions/conformance/conformance.h"
#include "sessions/text/json_value.h"
#include "tests/sessions/conformance/golden_vector_files.h"
#include "tests/support/golden.h"
#include "tests/support/property.h"

namespace hybridscope::hostile_vectors_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kVectorsAFile = 6;
constexpr int kChangesAVector = 8;
constexpr std::uint32_t kSeed = 20251;

// Values that no generator of vectors would write in these places.
json hostile_value(std::mt19937& random) {
  const std::vector<json> values = {nullptr,
                                    0,
                                    -1,
                                    1,
                                    2147483647,
                                    1 << 28,
                                    1 << 20,
                                    -2147483648LL,
                                    1099511627776LL,
                                    1e300,
                                    true,
                                    "x",
                                    json::array(),
                                    json::object(),
                                    json::array({json::array()})};
  return values[random() % values.size()];
}

void collect_pointers(const json& value, const std::string& pointer,
                      std::vector<std::string>& pointers) {
  pointers.push_back(pointer);
  if (value.is_object())
    for (const auto& [key, member] : value.items())
      collect_pointers(member, child_pointer(pointer, key), pointers);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      collect_pointers(value[i], child_pointer(pointer, i), pointers);
}

// Replaces, removes or repeats one value of what the vector asks.
std::string change_one_place(json& vector, std::mt19937& random) {
  const std::string part = random() % 4 == 0          ? "config"
                           : vector.contains("input") ? "input"
                                                      : "calls";
  std::vector<std::string> pointers;
  collect_pointers(vector.at(part), "/" + part, pointers);
  const json::json_pointer pointer(pointers[random() % pointers.size()]);
  json& place = vector.at(pointer);
  json& parent = vector.at(pointer.parent_pointer());
  switch (random() % 4) {
    case 0:
      if (parent.is_array())
        parent.push_back(json(place));
      else
        parent.erase(pointer.back());
      break;
    case 1:
      if (parent.is_array()) {
        parent.erase(parent.size() - 1);
        break;
      }
      [[fallthrough]];
    default:
      place = hostile_value(random);
  }
  return pointer.to_string();
}

class HostileVectors : public testing::TestWithParam<test::GoldenVectorFile> {};

TEST_P(HostileVectors, EndWithAnAnswerOrAJsonFault) {
  const VectorKind& kind = *GetParam().kind;
  std::vector<std::string> vectors;
  test::for_each_line(GetParam().name, [&](const std::string& line) { vectors.push_back(line); });
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  std::shuffle(vectors.begin(), vectors.end(), random);
  vectors.resize(std::min(vectors.size(), test::num_cases(kVectorsAFile)));
  for (const std::string& line : vectors) {
    const json vector = json::parse(line);
    for (int change = 0; change < kChangesAVector; ++change) {
      json changed = vector;
      SCOPED_TRACE(vector.at("id").get<std::string>() + " " + change_one_place(changed, random));
      try {
        const auto difference =
            check_vector(kind, changed, {.execute_copies = &execute_copies}, GetParam().place());
        EXPECT_THAT(difference ? difference->got : "", Not(HasSubstr("internal error")));
      } catch (const JsonFault& error) {
        EXPECT_FALSE(std::string(error.what()).empty());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileVectors, testing::ValuesIn(test::golden_vector_files()),
                         [](const auto& file) { return file.param.test_name(); });

}  // namespace
}  // namespace hybridscope::hostile_vectors_test
