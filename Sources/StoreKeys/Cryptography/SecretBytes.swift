import Foundation

/// Bytes that nobody may see: a key or a passphrase.
///
/// ```swift
/// guard let secret = SecretBytes.random() else { return }
/// let description = PersistentStoreDescription(url: url, key: .raw(secret))
/// ```
///
/// It may be shared between threads, since nobody can change its bytes. They live in pages of their own, locked against swapping and left
/// out of core dumps where the system allows, and are overwritten before that memory is freed. Printing one prints `<redacted>`; there is
/// no `Codable` conformance. Comparison takes the same time wherever the bytes differ.
public final class SecretBytes: Sendable {
  // The memory is written only before `init` ends and wiped in `deinit`: nobody can see a change, so sharing it is safe.
  private nonisolated(unsafe) let storage: UnsafeMutableRawBufferPointer
  private let isMapped: Bool

  /// The number of bytes.
  public var count: Int { storage.count }

  /// Makes a secret of `count` bytes that `fill` writes; the memory is zero before.
  ///
  /// - Parameters:
  ///   - count: The number of bytes.
  ///   - fill: Writes the bytes in place, so that no copy is left behind.
  /// - Throws: What `fill` throws; the memory is wiped then.
  public init<Failure: Error>(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
    (storage, isMapped) = SecretMemory.allocate(count)
    try fill(storage)
  }

  /// Copies bytes; wiping the original is left to the caller.
  ///
  /// - Parameter bytes: The bytes to copy.
  public convenience init(_ bytes: some Sequence<UInt8>) {
    var copy = ContiguousArray(bytes)
    self.init(count: copy.count) { buffer in
      copy.withUnsafeMutableBytes { source in
        buffer.copyMemory(from: UnsafeRawBufferPointer(source))
        Cryptography.wipe(source)
      }
    }
  }

  /// Copies the UTF-8 form of a text, in Unicode's composed form (NFC), so that one passphrase typed on two keyboards is one.
  ///
  /// The `String` itself cannot be wiped: where that matters, read the passphrase as bytes.
  ///
  /// - Parameter string: The text.
  public convenience init(utf8 string: String) {
    self.init(string.precomposedStringWithCanonicalMapping.utf8)
  }

  /// Makes a secret of random bytes from the system's generator.
  ///
  /// - Parameter count: The number of bytes, 32 for a key.
  /// - Returns: The secret; `nil` where the generator fails, which it does not on a working system.
  public static func random(count: Int = 32) -> SecretBytes? {
    var isFilled = false
    let secret = SecretBytes(count: count) { isFilled = Cryptography.fillWithRandomBytes($0) }
    return isFilled ? secret : nil
  }

  deinit {
    SecretMemory.deallocate(storage, isMapped: isMapped)
  }

  /// Lends the bytes for the time of one call. Copying them out is the caller's risk.
  ///
  /// - Parameter body: Reads the bytes.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws.
  public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(storage))
  }

  /// Part of the secret as a secret.
  package func slice(_ range: Range<Int>) -> SecretBytes {
    SecretBytes(count: range.count) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[range])) }
  }

  /// Two secrets one after the other.
  package func appending(_ other: SecretBytes) -> SecretBytes {
    SecretBytes(count: count + other.count) { buffer in
      UnsafeMutableRawBufferPointer(rebasing: buffer[0..<count]).copyMemory(from: UnsafeRawBufferPointer(storage))
      UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: UnsafeRawBufferPointer(other.storage))
    }
  }
}

extension SecretBytes: Equatable {
  /// Compares without stopping at the first difference.
  public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
    left.withUnsafeBytes { first in right.withUnsafeBytes { second in Cryptography.isEqual(first, second) } }
  }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
  /// `<redacted>`, always.
  public var description: String { "<redacted>" }
  /// A mirror without children, so that `dump` shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
