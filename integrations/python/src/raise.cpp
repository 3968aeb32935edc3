#include "integrations/python/src/raise.h"

#include <pybind11/pybind11.h>

#include <exception>
#include <string>

#include "core/base/check.h"

namespace hybridscope {
namespace {

namespace py = pybind11;

// An Error on its way to Python.
struct Raised : std::exception {
  explicit Raised(Error given) : error(std::move(given)) {}
  const char* what() const noexcept override { return error.message.c_str(); }
  Error error;
};

const char* exception_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_input:
      return "InvalidInput";
    case ErrorKind::not_found:
      return "NotFound";
    case ErrorKind::corrupt:
      return "Corrupt";
    case ErrorKind::io:
      return "InputOutput";
    case ErrorKind::device:
      return "Device";
    case ErrorKind::not_available:
      return "NotAvailable";
  }
  return "Error";
}

// The classes are Python's, so that they are pickled by name.
void set_exception(const char* name, const std::string& message) {
  const py::object errors = py::module_::import("hybridscope.errors");
  PyErr_SetObject(py::object(errors.attr(name)).ptr(), py::str(message).ptr());
}

}  // namespace

void raise(const Error& error) { throw Raised(error); }

void register_exceptions() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Raised& raised) {
      set_exception(exception_name(raised.error.kind), raised.error.message);
    } catch (const ContractViolation& violation) {
      set_exception("Bug", violation.what());
    }
  });
}

}  // namespace hybridscope
