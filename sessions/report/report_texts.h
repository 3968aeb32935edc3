// Sentences of a report, stored once: their words as a template, the numbers beside it. A thousand
// decisions of one rule then cost a thousand lists of numbers.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

class ReportTexts {
 public:
  // [template, number...]: the text is the template's pieces with the numbers between them.
  nlohmann::json add(std::string_view text);

  // [[piece...]...], what add() refers to.
  nlohmann::json templates() const;
  std::size_t size() const { return templates_.size(); }
  // Forgets what was added after there were `size` templates.
  void truncate(std::size_t size);

 private:
  std::map<std::vector<std::string>, std::size_t> places_;
  std::vector<const std::vector<std::string>*> templates_;  // keys of places_
};

}  // namespace hybridscope
