# SPDX-License-Identifier: Apache-2.0
# What every folder's CMakeLists.txt shares: compiler, warnings, sanitizers, CUDA's headers and tools, helpers.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()

set(PLUMB_SANITIZE "" CACHE STRING "Sanitizers for host code: address,undefined or thread")
if(PLUMB_SANITIZE)
  add_compile_options(-fsanitize=${PLUMB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PLUMB_SANITIZE})
endif()

find_package(Threads REQUIRED)
include_directories(${CMAKE_SOURCE_DIR})  # includes are written from the top: "collector/api/records.h"

# CUDA's headers, libraries and nvcc: a toolkit (CUDA_HOME, nvcc on PATH, /usr/local/cuda), else the wheels that ./run
# unpacks into .cuda. Sets PLUMB_CUDA_HOME, PLUMB_CUDA_INCLUDE, PLUMB_CUDA_LIB, and PLUMB_NVCC when there is one.
set(PLUMB_CUDA_CANDIDATES $ENV{CUDA_HOME} /usr/local/cuda ${CMAKE_SOURCE_DIR}/.cuda)
find_path(PLUMB_CUDA_HOME include/cupti.h HINTS ${PLUMB_CUDA_CANDIDATES} NO_DEFAULT_PATH)
if(NOT PLUMB_CUDA_HOME)
  message(FATAL_ERROR "CUDA's headers (cupti.h) were not found. Run ./run test or ./run demo once (it fetches NVIDIA's wheels into .cuda), or set CUDA_HOME.")
endif()
set(PLUMB_CUDA_INCLUDE ${PLUMB_CUDA_HOME}/include)
find_path(PLUMB_CUDA_LIB libcudart.so.13 HINTS ${PLUMB_CUDA_HOME}/lib64 ${PLUMB_CUDA_HOME}/lib NO_DEFAULT_PATH)
find_program(PLUMB_NVCC nvcc HINTS ${PLUMB_CUDA_HOME}/bin $ENV{CUDA_HOME}/bin)
add_library(plumb_cuda_headers INTERFACE)
target_include_directories(plumb_cuda_headers SYSTEM INTERFACE ${PLUMB_CUDA_INCLUDE})

add_library(plumb_warnings INTERFACE)
target_compile_options(plumb_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align -Woverloaded-virtual)

# Code that runs inside the target process: no exceptions or RTTI, no second libstdc++, nothing exported by accident.
add_library(plumb_guest INTERFACE)
target_compile_options(plumb_guest INTERFACE -fno-exceptions -fno-rtti -fno-threadsafe-statics)
target_link_options(plumb_guest INTERFACE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,-z,defs -Wl,--as-needed)

# plumb_test(NAME folder_name SOURCES … LIBRARIES …): one GoogleTest binary of a folder, its tests known to ctest.
function(plumb_test)
  cmake_parse_arguments(T "" "NAME;TIMEOUT" "SOURCES;LIBRARIES;DEPENDS" ${ARGN})
  if(NOT PLUMB_BUILD_TESTS)
    return()
  endif()
  if(NOT TARGET GTest::gtest_main)
    find_package(GTest REQUIRED)
  endif()
  include(GoogleTest)
  add_executable(${T_NAME} ${T_SOURCES})
  set_target_properties(${T_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBRARIES} GTest::gmock GTest::gtest GTest::gtest_main plumb_warnings)
  target_compile_definitions(${T_NAME} PRIVATE PLUMB_SOURCE_DIR="${CMAKE_SOURCE_DIR}" PLUMB_BUILD_DIR="${CMAKE_BINARY_DIR}")
  if(T_DEPENDS)
    add_dependencies(${T_NAME} ${T_DEPENDS})
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 120)
  endif()
  gtest_discover_tests(${T_NAME} PROPERTIES TIMEOUT ${T_TIMEOUT} DISCOVERY_TIMEOUT 60)
endfunction()
