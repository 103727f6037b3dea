import Foundation
import Synchronization

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
