import Foundation
import Synchronization

/// Secret bytes: a key or a passphrase.
///
/// ```swift
/// guard let secret = SecretBytes.random() else { return }
/// let description = PersistentStoreDescription(url: url, key: .raw(secret))
/// ```
///
/// Instances are immutable, so they can be shared between threads. The bytes are in memory pages that contain only secrets. These are
/// locked against swapping and excluded from core dumps, if the system allows it. The bytes are overwritten before their memory is freed.
/// Printing an instance prints `<redacted>`, and there is no `Codable` conformance. Comparison takes the same time wherever the bytes
/// differ.
public final class SecretBytes: Sendable {
  // The memory is written only before `init` ends and wiped in `deinit`. No change is observable, so sharing it is safe.
  private nonisolated(unsafe) let storage: UnsafeMutableRawBufferPointer
  private let isMapped: Bool

  /// The number of bytes.
  public var count: Int { storage.count }

  /// Creates a secret of `count` bytes that `fill` writes. The memory is initially zero.
  ///
  /// - Parameters:
  ///   - count: The number of bytes.
  ///   - fill: Writes the bytes in place, so that no copy remains.
  /// - Throws: Any error of `fill`. The memory is wiped then.
  public init<Failure: Error>(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void) throws(Failure) {
    (storage, isMapped) = SecretMemory.allocate(count)
    try fill(storage)
  }

  /// Creates a secret with a copy of bytes. The caller is responsible for wiping the original.
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

  /// Creates a secret with the UTF-8 form of a text, normalized to NFC, so that a passphrase gives the same bytes on every keyboard.
  ///
  /// The `String` itself cannot be wiped. If that matters, read the passphrase as bytes.
  ///
  /// - Parameter string: The text.
  public convenience init(utf8 string: String) {
    self.init(string.precomposedStringWithCanonicalMapping.utf8)
  }

  /// Returns a secret of random bytes from the system's generator.
  ///
  /// - Parameter count: The number of bytes; 32 for a key.
  /// - Returns: The secret, or `nil` if the generator fails, which does not happen on a working system.
  public static func random(count: Int = 32) -> SecretBytes? {
    var isFilled = false
    let secret = SecretBytes(count: count) { isFilled = Cryptography.fillWithRandomBytes($0) }
    return isFilled ? secret : nil
  }

  deinit {
    SecretMemory.deallocate(storage, isMapped: isMapped)
  }

  /// Calls a closure with the bytes, which are valid only during the call. Copies of them are not protected.
  ///
  /// - Parameter body: Reads the bytes.
  /// - Returns: The result of `body`.
  /// - Throws: Any error of `body`.
  public func withUnsafeBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(storage))
  }

  /// Returns a part of the secret.
  package func slice(_ range: Range<Int>) -> SecretBytes {
    SecretBytes(count: range.count) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[range])) }
  }

  /// Returns the concatenation of two secrets.
  package func appending(_ other: SecretBytes) -> SecretBytes {
    SecretBytes(count: count + other.count) { buffer in
      UnsafeMutableRawBufferPointer(rebasing: buffer[0..<count]).copyMemory(from: UnsafeRawBufferPointer(storage))
      UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: UnsafeRawBufferPointer(other.storage))
    }
  }
}

extension SecretBytes: Equatable {
  /// Compares two secrets in constant time.
  public static func == (left: SecretBytes, right: SecretBytes) -> Bool {
    left.withUnsafeBytes { first in right.withUnsafeBytes { second in Cryptography.isEqual(first, second) } }
  }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
  /// Always `<redacted>`.
  public var description: String { "<redacted>" }
  /// A mirror without children, so that `dump` prints nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Allocates memory for secrets only.
///
/// Small secrets share pages that stay locked for the lifetime of the process. Locking each one separately would cost several system calls,
/// and unlocking a page would also unlock other secrets on it.
enum SecretMemory {
  private static let slotSize = 128
  private static let blockSize = 16_384
  /// The addresses of free slots, whose bytes are zero.
  private static let freeSlots = Mutex<[UInt]>([])

  /// Returns zeroed memory, and whether it has its own pages.
  static func allocate(_ count: Int) -> (memory: UnsafeMutableRawBufferPointer, isMapped: Bool) {
    if count <= slotSize, let slot = takeSlot() { return (UnsafeMutableRawBufferPointer(start: slot, count: count), false) }
    if count > slotSize, let pages = mapPages(count) { return (UnsafeMutableRawBufferPointer(start: pages, count: count), true) }
    // No page can be mapped. Memory that can be swapped is better than a crash.
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, slotSize), alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0)
    return (UnsafeMutableRawBufferPointer(rebasing: memory[0..<count]), false)
  }

  static func deallocate(_ memory: UnsafeMutableRawBufferPointer, isMapped: Bool) {
    Cryptography.wipe(memory)
    guard let base = memory.baseAddress else { return }
    if isMapped {
      munmap(base, memory.count)
    } else if memory.count <= slotSize {
      freeSlots.withLock { $0.append(UInt(bitPattern: base)) }
    } else {
      base.deallocate()
    }
  }

  private static func takeSlot() -> UnsafeMutableRawPointer? {
    freeSlots.withLock { slots in
      if slots.isEmpty, let block = mapPages(blockSize) {
        for offset in stride(from: 0, to: blockSize, by: slotSize) { slots.append(UInt(bitPattern: block + offset)) }
      }
      return slots.popLast().flatMap { UnsafeMutableRawPointer(bitPattern: $0) }
    }
  }

  private static func mapPages(_ size: Int) -> UnsafeMutableRawPointer? {
    guard let base = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | Int32(MAP_ANONYMOUS), -1, 0), base != MAP_FAILED else {
      return nil
    }
    _ = mlock(base, size)
    #if os(Linux)
      _ = madvise(base, size, Int32(MADV_DONTDUMP))
    #endif
    return base
  }
}
