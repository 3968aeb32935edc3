#include "sessions/text/json_builder.h"

#include <fmt/format.h>

#include <utility>

#include "sessions/text/json_reader.h"
#include "sessions/text/object_reader.h"

namespace hybridscope {
namespace {

// JSON pointer of the innermost open container.
std::string pointer_of(const std::vector<nlohmann::json*>& open) {
  std::string pointer;
  for (std::size_t i = 0; i + 1 < open.size(); ++i) {
    const nlohmann::json& parent = *open[i];
    if (parent.is_array()) {
      pointer = child_pointer(pointer, parent.size() - 1);
      continue;
    }
    for (auto member = parent.begin(); member != parent.end(); ++member)
      if (&*member == open[i + 1]) pointer = child_pointer(pointer, member.key());
  }
  return pointer;
}

}  // namespace

bool JsonBuilder::fail(std::string message) {
  problem_ = {JsonProblem::Kind::structure, 0, pointer_of(open_), std::move(message)};
  return false;
}

bool JsonBuilder::add(Json value) {
  if (open_.empty())
    root_ = std::move(value);
  else if (open_.back()->is_array())
    open_.back()->push_back(std::move(value));
  else
    (*open_.back())[key_] = std::move(value);
  return true;
}

bool JsonBuilder::open(Json container) {
  if (open_.size() >= static_cast<std::size_t>(kMaxJsonDepth))
    return fail(fmt::format("nested deeper than {} levels", kMaxJsonDepth));
  Json* const parent = open_.empty() ? nullptr : open_.back();
  add(std::move(container));
  if (parent == nullptr)
    open_.push_back(&root_);
  else
    open_.push_back(parent->is_array() ? &parent->back() : &(*parent)[key_]);
  return true;
}

bool JsonBuilder::null() { return add(nullptr); }
bool JsonBuilder::boolean(bool value) { return add(value); }
bool JsonBuilder::number_integer(Json::number_integer_t value) { return add(value); }
bool JsonBuilder::number_unsigned(Json::number_unsigned_t value) { return add(value); }
bool JsonBuilder::number_float(Json::number_float_t value, const Json::string_t&) {
  return add(value);
}
bool JsonBuilder::string(Json::string_t& value) { return add(std::move(value)); }
bool JsonBuilder::binary(Json::binary_t&) { return fail("binary value in JSON text"); }

bool JsonBuilder::start_object(std::size_t) { return open(Json::object()); }
bool JsonBuilder::start_array(std::size_t) { return open(Json::array()); }

bool JsonBuilder::key(Json::string_t& name) {
  key_ = std::move(name);
  if (open_.back()->contains(key_))
    return fail(fmt::format("key {} occurs twice", quoted_text(key_)));
  return true;
}

bool JsonBuilder::end_object() {
  open_.pop_back();
  return true;
}

bool JsonBuilder::end_array() {
  open_.pop_back();
  return true;
}

bool JsonBuilder::parse_error(std::size_t offset, const std::string&,
                              const Json::exception& error) {
  problem_ = {JsonProblem::Kind::syntax, offset, {}, error.what()};
  return false;
}

}  // namespace hybridscope
