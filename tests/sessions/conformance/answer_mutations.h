// Small changes of an expected answer, each of which a comparison must find.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace hybridscope::test {

enum class Change { number, boolean, text, removed_member, removed_element };

struct AnswerMutation {
  Change change = Change::number;
  std::string pointer;      // what is changed
  std::string reported_at;  // where the difference has to show
};

// Places of `output` that may be changed: numbers, booleans, texts, members of objects, last
// elements of arrays; none inside an error object, whose content is not compared, and no nulls,
// which are unwritten elements. All of them, or `limit` random ones.
std::vector<AnswerMutation> answer_mutations(const nlohmann::json& output, std::size_t limit,
                                             std::mt19937& random);

nlohmann::json apply_mutation(nlohmann::json output, const AnswerMutation& mutation);

}  // namespace hybridscope::test
