# cmake --install: the daemon, its manual page, completion, unit and example configuration; libtransposed for other programs.

# One archive of all kernels' floors, so that a program links one name.
set(archive_objects "")
foreach(floor tpd_core tpd_model tpd_measure tpd_cpu tpd_cuda_host tpd_cuda tpd_backend)
  if(TARGET ${floor})
    get_target_property(kind ${floor} TYPE)
    if(kind STREQUAL STATIC_LIBRARY)
      list(APPEND archive_objects $<TARGET_OBJECTS:${floor}>)
    endif()
  endif()
endforeach()
add_library(tpd_archive STATIC ${archive_objects})
set_target_properties(tpd_archive PROPERTIES OUTPUT_NAME transposed LINKER_LANGUAGE C)
install(TARGETS tpd_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)

# The contracts of kernels/; those of the daemon's floors are nobody else's.
foreach(header alloc backend banks block buf clock matrix measure occupancy patterns status strategy transposed tuning)
  install(FILES include/transposed/${header}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/transposed COMPONENT library)
endforeach()
foreach(table backends dtypes status strategies tuning)
  install(FILES include/transposed/tbl/${table}.def DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/transposed/tbl COMPONENT library)
endforeach()

# Paths relative to the .pc file: it stays right under any prefix that `cmake --install` is given.
file(RELATIVE_PATH TPD_PC_UP "/x/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/x")
# There is an archive alone, which every program links whole: what it needs is no private matter.
set(TPD_PC_LIBS "-pthread")
if(TPD_HAVE_CUDA)
  get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
  get_filename_component(cudart_folder ${cudart} DIRECTORY)
  string(PREPEND TPD_PC_LIBS "-L${cudart_folder} -lcudart_static -lstdc++ -ldl -lrt ")
endif()
configure_file(config/cmake/transposed.pc.in transposed.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/transposed.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(TRANSPOSED_DAEMON)
  # The binary writes its own pages, from its tables.
  install(CODE "
    foreach(page man completion)
      execute_process(COMMAND \"$<TARGET_FILE:transposed>\" \${page} OUTPUT_FILE \"${PROJECT_BINARY_DIR}/transposed.\${page}\"
                      COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
  install(FILES ${PROJECT_BINARY_DIR}/transposed.man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME transposed.1)
  install(FILES ${PROJECT_BINARY_DIR}/transposed.completion DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          RENAME transposed)
  # systemd looks in lib/systemd/system of /usr and /usr/local, whatever the architecture's library folder is.
  # The unit says /usr/bin and /etc; what is installed says where the binary and its configuration really are.
  if(EXISTS ${PROJECT_SOURCE_DIR}/deploy/transposed.service)
    install(CODE "
      file(READ \"${PROJECT_SOURCE_DIR}/deploy/transposed.service\" unit)
      set(folder \"${CMAKE_INSTALL_SYSCONFDIR}\")
      if(NOT IS_ABSOLUTE \"\${folder}\")
        set(folder \"\${CMAKE_INSTALL_PREFIX}/\${folder}\")
      endif()
      string(REPLACE \"=/etc/transposed/\" \"=\${folder}/transposed/\" unit \"\${unit}\")
      string(REPLACE \"/usr/bin/transposed\" \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/transposed\" unit \"\${unit}\")
      file(WRITE \"${PROJECT_BINARY_DIR}/transposed.service\" \"\${unit}\")")
    install(FILES ${PROJECT_BINARY_DIR}/transposed.service DESTINATION lib/systemd/system)
  endif()
  if(EXISTS ${PROJECT_SOURCE_DIR}/config/transposed.json)
    install(FILES config/transposed.json DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/transposed)
  endif()
endif()
