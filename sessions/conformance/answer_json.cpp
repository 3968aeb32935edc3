#include "sessions/conformance/answer_json.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace hybridscope {

nlohmann::json error_json(const Error& error) { return {{"error", error.message}}; }

nlohmann::json list_json(const TensorView<std::int32_t>& view) {
  return std::vector<std::int32_t>(view.data, view.data + view.size());
}

nlohmann::json rows_json(const TensorView<std::int32_t>& view) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::int32_t row = 0; row < view.rows; ++row) {
    const std::int32_t* begin = view.data + static_cast<std::int64_t>(row) * view.cols;
    rows.push_back(std::vector<std::int32_t>(begin, begin + view.cols));
  }
  return rows;
}

nlohmann::json answer_until_error(const JsonValue& array,
                                  const std::function<nlohmann::json(const JsonValue&)>& answer) {
  nlohmann::json answers = nlohmann::json::array();
  for (const JsonValue& element : array.elements()) {
    answers.push_back(answer(element));
    if (answers.back().contains("error")) break;
  }
  return answers;
}

}  // namespace hybridscope
