// Untrusted text inside Python source code.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// A literal in double quotes. Control characters are escaped; bytes that are not UTF-8 become
// U+FFFD.
std::string python_string(std::string_view text);

// Text for the rest of a comment line: one line, control characters escaped.
std::string python_comment(std::string_view text);

// A function of every exported test: releases of vLLM differ in what their constructors take.
inline constexpr std::string_view kKnownArguments = R"py(

def known_arguments(function, **arguments):
    """Those that this version of the function takes."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in arguments.items() if name in known}
)py";

}  // namespace hybridscope
