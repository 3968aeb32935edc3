// Two kinds of failure. Result<T>: a value, or an Error that says what is wrong with the input (a
// file, a setting, a vector that breaks a precondition). HS_EXPECT: a bug of hybridscope itself.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

// HS_EXPECT guards contracts between our own units. A failure is a bug of hybridscope, never of its
// input: it throws ContractViolation, which is caught where a command is applied (exit code 5).

namespace hybridscope {

class ContractViolation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void contract_violation(const char* condition, const char* file, int line);

}  // namespace hybridscope

#define HS_EXPECT(condition)                                             \
  do {                                                                   \
    if (!(condition)) [[unlikely]]                                       \
      ::hybridscope::contract_violation(#condition, __FILE__, __LINE__); \
  } while (false)

namespace hybridscope {

enum class ErrorKind { invalid_input, not_found, corrupt, io, device, not_available };

struct Error {
  ErrorKind kind = ErrorKind::invalid_input;
  std::string message;  // what, where, the numbers, what was expected
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Requires: ok(); otherwise a ContractViolation with the error's message.
  T& value() & {
    expect_value();
    return *std::get_if<0>(&content_);
  }
  const T& value() const& {
    expect_value();
    return *std::get_if<0>(&content_);
  }
  T&& value() && {
    expect_value();
    return std::move(*std::get_if<0>(&content_));
  }

  // Requires: !ok().
  const Error& error() const {
    HS_EXPECT(!ok());
    return *std::get_if<1>(&content_);
  }

 private:
  void expect_value() const {
    if (!ok()) [[unlikely]]
      contract_violation(error().message.c_str(), "unexpected error", 0);
  }

  std::variant<T, Error> content_;
};

// Success without a value.
struct Ok {};
using Status = Result<Ok>;

inline Error invalid_input(std::string message) {
  return Error{ErrorKind::invalid_input, std::move(message)};
}

}  // namespace hybridscope
