/*
 * A TOML text as the record of events that the policy reader walks over; src/policy/policy_toml.c
 * describes the form. The only C++ of the project: the TOML library that Debian keeps is C++.
 */
#ifndef TOML_RECORD_H
#define TOML_RECORD_H

#include <string>
#include <string_view>

/* Always a whole record: a text that is not TOML becomes one that says so, with its place. */
std::string toml_record(std::string_view text);

#endif
