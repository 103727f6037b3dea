public import Foundation

extension Process {
  /// Kills the process a while after its output fulfills a condition, or when it ends.
  ///
  /// - Parameters:
  ///   - pipe: The pipe that the process writes to.
  ///   - isReached: Returns whether the output so far fulfills the condition.
  ///   - microseconds: The time to wait after that.
  /// - Returns: The whole output.
  public func kill(reading pipe: Pipe, when isReached: (String) -> Bool, microseconds: UInt32) -> String {
    var output = Data()
    while !isReached(String(decoding: output, as: UTF8.self)) {
      let data = pipe.fileHandleForReading.availableData
      if data.isEmpty { break }
      output += data
    }
    usleep(microseconds)
    Foundation.kill(processIdentifier, SIGKILL)
    output += pipe.fileHandleForReading.readDataToEndOfFile()
    waitUntilExit()
    return String(decoding: output, as: UTF8.self)
  }
}
