import Foundation

extension Tool {
  /// Opens closed standard descriptors on `/dev/null`. Otherwise, the next opened file would get such a number and receive the terminal's
  /// output. Reading from or writing to such a descriptor still fails.
  package static func keepStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
      // `open` returns the lowest free number, which is this one: those before are open.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Rejects arguments that are not valid UTF-8, which would name a different file than the intended one.
  ///
  /// - Returns: The exit status; `nil` if all arguments are valid.
  package static func statusWithoutText() -> Int32? {
    for number in 0..<Int(CommandLine.argc) {
      guard let argument = CommandLine.unsafeArgv[number] else { continue }
      if String(validatingCString: argument) == nil {
        print(
          "cipherdata: Argument \(number) is not UTF-8: \(TableWriter.printable(String(cString: argument))). Rename files with such names.",
          to: STDERR_FILENO)
        return ExitStatus.usage.rawValue
      }
    }
    return nil
  }
}
