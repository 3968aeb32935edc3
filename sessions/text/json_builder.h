// Builds a JSON value from the parser's events; unlike the parser's own builder it refuses
// duplicate keys and deep nesting. For json_reader.cpp.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hybridscope {

struct JsonProblem {
  enum class Kind { none, syntax, structure };
  Kind kind = Kind::none;
  std::size_t offset = 0;  // syntax: bytes read, the offending one included
  std::string pointer;     // structure
  std::string message;
};

class JsonBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Json = nlohmann::json;

  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(Json::number_integer_t value) override;
  bool number_unsigned(Json::number_unsigned_t value) override;
  bool number_float(Json::number_float_t value, const Json::string_t& text) override;
  bool string(Json::string_t& value) override;
  bool binary(Json::binary_t& value) override;
  bool start_object(std::size_t size) override;
  bool key(Json::string_t& name) override;
  bool end_object() override;
  bool start_array(std::size_t size) override;
  bool end_array() override;
  bool parse_error(std::size_t offset, const std::string& last_token,
                   const Json::exception& error) override;

  Json& root() { return root_; }
  const JsonProblem& problem() const { return problem_; }

 private:
  bool add(Json value);
  bool open(Json container);
  bool fail(std::string message);

  Json root_;
  std::vector<Json*> open_;  // containers around the place of the next value
  std::string key_;          // of the next value in an object
  JsonProblem problem_;
};

}  // namespace hybridscope
