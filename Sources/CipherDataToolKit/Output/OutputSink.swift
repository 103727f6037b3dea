import Foundation

/// A buffered writer to a file descriptor or into memory. Call ``flush()`` at the end.
package final class OutputSink {
  private let descriptor: Int32?
  private let isDiscarding: Bool
  private var buffer: [UInt8] = []
  private let limit: Int

  /// Creates a sink that writes to a descriptor, or keeps everything in memory for ``text`` if the descriptor is `nil`.
  package init(descriptor: Int32? = STDOUT_FILENO, limit: Int = 1 << 16) {
    self.descriptor = descriptor
    self.limit = limit
    isDiscarding = false
  }

  private init(discardingAfter limit: Int) { (descriptor, self.limit, isDiscarding) = (nil, limit, true) }

  /// Returns a sink that discards its output.
  static func discarding() -> OutputSink { OutputSink(discardingAfter: 1 << 16) }

  /// The contents of a sink without a descriptor.
  package var text: String { String(decoding: buffer, as: UTF8.self) }

  /// Writes text.
  ///
  /// - Throws: ``ToolError`` if writing fails.
  package func write(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    if buffer.count >= limit { try flush() }
  }

  /// Writes bytes.
  package func write(_ bytes: some Sequence<UInt8>) throws {
    buffer.append(contentsOf: bytes)
    if buffer.count >= limit { try flush() }
  }

  /// Writes text and a line terminator.
  package func line(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    buffer.append(0x0A)
    if buffer.count >= limit { try flush() }
  }

  /// Writes the buffered bytes.
  package func flush() throws {
    if isDiscarding { buffer.removeAll(keepingCapacity: true) }
    guard let descriptor else { return }
    var offset = 0
    while offset < buffer.count {
      let count = buffer.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress.map { $0 + offset }, $0.count - offset) }
      if count >= 0 {
        offset += count
      } else if errno != EINTR {
        let reason = String(cString: strerror(errno))
        buffer.removeAll()
        throw ToolError(.damage, "Cannot write the output: \(reason).")
      }
    }
    buffer.removeAll(keepingCapacity: true)
  }
}
