#include "cli/positive_number.h"

#include <CLI/CLI.hpp>
#include <string>

namespace hybridscope {

CLI::Validator is_positive_number() {
  return {[](std::string& text) {
            const bool digits = !text.empty() && text.find_first_not_of("0123456789") == text.npos;
            return digits && text.find_first_not_of('0') != text.npos
                       ? std::string()
                       : "\"" + text + "\" is not a positive integer";
          },
          "", "positive"};
}

}  // namespace hybridscope
