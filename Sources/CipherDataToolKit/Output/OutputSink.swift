// OutputSink: text on its way to standard output, in large pieces.
import Foundation

/// Collects text and writes it to a descriptor or into memory. Call ``flush()`` at the end.
package final class OutputSink {
  private let descriptor: Int32?
  private let isDiscarding: Bool
  private var buffer: [UInt8] = []
  private let limit: Int

  /// Writes to a descriptor; nil keeps everything in memory, for ``text``.
  package init(descriptor: Int32? = STDOUT_FILENO, limit: Int = 1 << 16) {
    self.descriptor = descriptor
    self.limit = limit
    isDiscarding = false
  }

  private init(discardingAfter limit: Int) { (descriptor, self.limit, isDiscarding) = (nil, limit, true) }

  /// A sink that drops what is written.
  static func discarding() -> OutputSink { OutputSink(discardingAfter: 1 << 16) }

  /// What a sink without descriptor holds.
  package var text: String { String(decoding: buffer, as: UTF8.self) }

  /// Adds text.
  ///
  /// - Throws: ``ToolError`` when the text cannot be written.
  package func write(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    if buffer.count >= limit { try flush() }
  }

  /// Adds bytes.
  package func write(_ bytes: some Sequence<UInt8>) throws {
    buffer.append(contentsOf: bytes)
    if buffer.count >= limit { try flush() }
  }

  /// Adds text and a line end.
  package func line(_ text: String) throws {
    buffer.append(contentsOf: text.utf8)
    buffer.append(0x0A)
    if buffer.count >= limit { try flush() }
  }

  /// Writes what is at hand.
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
