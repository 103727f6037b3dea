import Foundation
import ObjectModel
import ObjectStore

/// The values that were set on an object since its row was read or saved, and its transient values.
///
/// The values are stored in the layout of a ``RowImage``, so that property reads treat the overlay like a row, and a save copies it
/// unchanged. Three bit masks precede the row: the slots that have a value here, those set since the last save, and those set in the
/// current event. A *whole* overlay also contains a copy of all other values, and is read instead of the object's row. Values that do not
/// fit into the row are stored outside it.
///
/// An overlay is an address. Its memory belongs to the object, which frees it with `free()`; no other code keeps the overlay beyond a call.
struct Overlay {
  private struct Head {
    /// The address of the row. The masks precede it. Both follow the head until the texts need more space; then both move.
    var row: UnsafeMutableRawPointer
    /// The number of bytes allocated for the row. The row's own size field is the number of bytes in use.
    var capacity: UInt32
    /// The number of bytes of texts that were replaced.
    var unusedBytes: UInt32 = 0
    // The entity outlives the overlay: a model is never freed after it has issued IDs.
    let entity: Unmanaged<CompiledEntity>
    /// The address of the object's own row, which the object retains. It is stored here because the object itself has only `readWord`,
    /// which refers to the overlay.
    var below: UnsafeRawPointer?
    /// Values stored outside the row.
    var outOfRow: OutOfRowValues?
    let slotCount: UInt32
    /// Whether the row here contains all values of the object.
    var isWhole: Bool
  }
  // Safe because one object owns the memory, its context's isolation admits one access at a time, and the overlay is not used after that
  // object has freed it.
  private let head: UnsafeMutablePointer<Head>

  /// Longer texts and data are stored outside the row: they are shared with the caller that set them, not copied.
  private static let longByteCount = 1_024
  /// The number of bytes reserved for each text.
  private static let textCapacity = 32

  /// Allocates the head, the masks and a row in one block.
  // The entity outlives the overlay: a model is never freed after it has issued IDs.
  private init(_ entity: Unmanaged<CompiledEntity>, slotCount: Int, capacity: Int, isWhole: Bool) {
    let headSize = MemoryLayout<Head>.stride
    let prefix = headSize + Self.maskBytes(slotCount)
    let memory = Self.allocate(prefix + capacity)
    head = memory.bindMemory(to: Head.self, capacity: 1)
    head.initialize(
      to: Head(
        row: memory + prefix, capacity: UInt32(truncatingIfNeeded: capacity), entity: entity,
        slotCount: UInt32(truncatingIfNeeded: slotCount), isWhole: isWhole))
    (memory + headSize).initializeMemory(as: UInt8.self, repeating: 0, count: prefix - headSize)
  }

  /// Allocates memory with `malloc`, whose alignment is sufficient. Swift's own function requests the alignment explicitly and makes three
  /// more calls.
  private static func allocate(_ byteCount: Int) -> UnsafeMutableRawPointer {
    // When memory is exhausted, Swift's function reports that and terminates the process.
    malloc(byteCount) ?? .allocate(byteCount: byteCount, alignment: 8)
  }

  /// Creates an empty overlay.
  ///
  /// - Parameters:
  ///   - entity: The object's entity.
  ///   - isWhole: Whether the object has no other values.
  init(of entity: CompiledEntity, isWhole: Bool = false) {
    let slotCount = entity.slots.count
    let fixed = Self.fixedSize(slotCount)
    self.init(
      // The entity outlives the overlay, as above.
      .passUnretained(entity), slotCount: slotCount, capacity: fixed + (isWhole ? entity.textSlotCount * Self.textCapacity : 0),
      isWhole: isWhole && !entity.hasTransientSlots)
    row.storeBytes(of: UInt32(truncatingIfNeeded: fixed), as: UInt32.self)
    row.storeBytes(of: UInt16(truncatingIfNeeded: entity.number), toByteOffset: 4, as: UInt16.self)
    row.storeBytes(of: UInt16(truncatingIfNeeded: slotCount), toByteOffset: 6, as: UInt16.self)
    (row + 8).initializeMemory(as: Int64.self, repeating: 0, count: 2 + slotCount)
    (row + RowImage.wordsOffset + slotCount * 8).initializeMemory(as: UInt64.self, repeating: .max, count: Self.maskCount(slotCount))
  }

  /// Creates an overlay with a copy of all values of a row, none of which counts as set. The caller retains the row during the call. Fails
  /// if the row is too large, or if some values are stored outside it.
  // The entity is passed unretained, as the overlay stores it, so that the first change of an object updates no reference count.
  init?(of entity: Unmanaged<CompiledEntity>, copying other: UnsafeRawPointer) {
    let (size, slotCount) = (RowImage.size(other), RowImage.slotCount(other))
    guard size <= Self.longByteCount, entity._withUnsafeGuaranteedRef({ !$0.hasTransientSlots && slotCount == $0.slots.count }),
      !RowImage.hasUnreadableSlots(other)
    else { return nil }
    self.init(entity, slotCount: slotCount, capacity: (size + 7) & ~7, isWhole: true)
    row.copyMemory(from: other, byteCount: size)
  }

  /// Frees the memory. The owner calls this once, when the values are no longer needed.
  func free() {
    let memory = UnsafeMutableRawPointer(head)
    let masks = row - Self.maskBytes(slotCount)
    if masks != UnsafeMutableRawPointer(head + 1) { Foundation.free(masks) }
    head.deinitialize(count: 1)
    Foundation.free(memory)
  }

  // MARK: Memory

  /// The start of the overlay's memory.
  @inline(__always) var address: UnsafeRawPointer { UnsafeRawPointer(head) }
  /// The address of the row. It changes when texts need more space.
  @inline(__always) var row: UnsafeMutableRawPointer { head.pointee.row }
  @inline(__always) var below: UnsafeRawPointer? {
    get { head.pointee.below }
    nonmutating set { head.pointee.below = newValue }
  }
  @inline(__always) var isWhole: Bool { head.pointee.isWhole }
  @inline(__always) private var slotCount: Int { Int(head.pointee.slotCount) }
  // The entity outlives the overlay: a model is never freed after it has issued IDs.
  @inline(__always) private var entity: Unmanaged<CompiledEntity> { head.pointee.entity }
  @inline(__always) private var capacity: Int { Int(head.pointee.capacity) }
  @inline(__always) private var unusedBytes: Int { Int(head.pointee.unusedBytes) }
  @inline(__always) private var hasOutOfRowValues: Bool { head.pointee.outOfRow != nil }

  @inline(__always) private static func maskCount(_ slotCount: Int) -> Int { (slotCount + 63) &>> 6 }
  @inline(__always) private static func maskBytes(_ slotCount: Int) -> Int { maskCount(slotCount) &* 24 }
  @inline(__always) private static func fixedSize(_ slotCount: Int) -> Int {
    RowImage.wordsOffset &+ (slotCount &+ maskCount(slotCount)) &* 8
  }

  @inline(__always) private func addUnusedBytes(_ count: Int) { head.pointee.unusedBytes += UInt32(truncatingIfNeeded: count) }

  /// The number of bytes of the row in use.
  @inline(__always) var size: Int { Int(row.load(as: UInt32.self)) }

  /// Allocates space for more bytes, and removes the gaps that replaced texts have left.
  private func reserveBytes(_ count: Int) {
    let live = size - unusedBytes
    let (old, fixed, prefix) = (row, Self.fixedSize(slotCount), Self.maskBytes(slotCount))
    let capacity = (max(live + count, live + live / 2) + 7) & ~7
    let row = Self.allocate(prefix + capacity) + prefix
    head.pointee.row = row
    head.pointee.capacity = UInt32(truncatingIfNeeded: capacity)
    (row - prefix).copyMemory(from: old - prefix, byteCount: prefix + fixed)
    var end = fixed
    for slot in 0..<slotCount where !isNull(slot) && hasBytes(slot) {
      let bytes = Self.bytes(old, word(slot))
      if let source = bytes.baseAddress { (row + end).copyMemory(from: source, byteCount: bytes.count) }
      storeWord(Self.word(offset: end, count: bytes.count), slot)
      end += bytes.count
    }
    row.storeBytes(of: UInt32(truncatingIfNeeded: end), as: UInt32.self)
    head.pointee.unusedBytes = 0
    if old - prefix != UnsafeMutableRawPointer(head + 1) { Foundation.free(old - prefix) }
  }

  @inline(__always) private static func bytes(_ row: UnsafeMutableRawPointer, _ word: Int64) -> UnsafeRawBufferPointer {
    let bits = UInt64(bitPattern: word)
    return UnsafeRawBufferPointer(start: row + Int(bits & 0xFFFF_FFFF), count: Int(bits &>> 32))
  }

  @inline(__always) private static func word(offset: Int, count: Int) -> Int64 {
    Int64(bitPattern: UInt64(count) &<< 32 | UInt64(truncatingIfNeeded: offset))
  }

  @inline(__always) private func kind(_ slot: Int) -> SlotKind { entity._withUnsafeGuaranteedRef { $0.kinds[slot] } }
  @inline(__always) private func hasBytes(_ slot: Int) -> Bool {
    let kind = kind(slot)
    return kind == .text || kind == .bytes
  }

  // MARK: Words

  @inline(__always) func word(_ slot: Int) -> Int64 { row.load(fromByteOffset: RowImage.wordsOffset &+ slot &* 8, as: Int64.self) }

  /// Returns the bytes of a text or data slot.
  @inline(__always) func bytes(_ slot: Int) -> UnsafeRawBufferPointer { Self.bytes(row, word(slot)) }

  /// Returns whether a slot has no value in the row.
  @inline(__always) func isNull(_ slot: Int) -> Bool {
    nulls.load(fromByteOffset: slot &>> 6 &* 8, as: UInt64.self) &>> UInt64(slot & 63) & 1 != 0
  }

  @inline(__always) private var nulls: UnsafeMutableRawPointer { row + (RowImage.wordsOffset &+ slotCount &* 8) }

  @inline(__always) private func storeWord(_ word: Int64, _ slot: Int) {
    row.storeBytes(of: word, toByteOffset: RowImage.wordsOffset &+ slot &* 8, as: Int64.self)
  }

  @inline(__always) private func setNull(_ isNull: Bool, _ slot: Int) {
    let place = nulls + slot &>> 6 &* 8
    let bit = 1 &<< UInt64(slot & 63)
    let bits = place.load(as: UInt64.self)
    place.storeBytes(of: isNull ? bits | bit : bits & ~bit, as: UInt64.self)
  }

  @inline(__always) private func store(_ word: Int64, _ slot: Int) {
    storeWord(word, slot)
    setNull(false, slot)
  }

  /// Removes the value of a slot, and marks its bytes as unused.
  private func empty(_ slot: Int) {
    if !isNull(slot), hasBytes(slot) { addUnusedBytes(bytes(slot).count) }
    storeWord(0, slot)
    setNull(true, slot)
  }

  private func store(_ new: UnsafeRawBufferPointer, _ slot: Int) {
    let old = isNull(slot) ? 0 : bytes(slot).count
    if !isNull(slot), new.count <= old {
      if let source = new.baseAddress { (row + Int(word(slot) & 0xFFFF_FFFF)).copyMemory(from: source, byteCount: new.count) }
      addUnusedBytes(old - new.count)
      return storeWord(Self.word(offset: Int(word(slot) & 0xFFFF_FFFF), count: new.count), slot)
    }
    // Emptied first, so that allocating more space does not copy the old text.
    empty(slot)
    if size + new.count > capacity { reserveBytes(new.count) }
    let end = size
    if let source = new.baseAddress { (row + end).copyMemory(from: source, byteCount: new.count) }
    store(Self.word(offset: end, count: new.count), slot)
    row.storeBytes(of: UInt32(truncatingIfNeeded: end + new.count), as: UInt32.self)
  }

  // MARK: Masks

  @inline(__always) private func mask(_ number: Int) -> UnsafeMutableRawPointer { row - Self.maskCount(slotCount) &* 8 &* number }

  @inline(__always) private func isMarked(_ number: Int, _ slot: Int) -> Bool {
    mask(number).load(fromByteOffset: slot &>> 6 &* 8, as: UInt64.self) &>> UInt64(slot & 63) & 1 != 0
  }

  @inline(__always) private func mark(_ number: Int, _ slot: Int) {
    let place = mask(number) + slot &>> 6 &* 8
    place.storeBytes(of: place.load(as: UInt64.self) | 1 &<< UInt64(slot & 63), as: UInt64.self)
  }

  private func unmark(_ number: Int, _ slot: Int) {
    let place = mask(number) + slot &>> 6 &* 8
    place.storeBytes(of: place.load(as: UInt64.self) & ~(1 &<< UInt64(slot & 63)), as: UInt64.self)
  }

  private func slots(_ number: Int) -> SlotMask {
    if slotCount <= 64 { return SlotMask(low: slotCount == 0 ? 0 : mask(number).load(as: UInt64.self)) }
    var slots = SlotMask()
    for slot in 0..<slotCount where isMarked(number, slot) { slots.insert(slot) }
    return slots
  }

  /// Returns whether a slot has a value here, which may be null.
  @inline(__always) func has(_ slot: Int) -> Bool { isMarked(1, slot) }
  /// Returns whether a slot was set since the last save.
  @inline(__always) func isDirty(_ slot: Int) -> Bool { isMarked(2, slot) }
  /// Returns whether a slot was set since changes were last processed.
  @inline(__always) func isChangedInEvent(_ slot: Int) -> Bool { isMarked(3, slot) }
  /// The slots set since the last save, which ``ManagedObject/changedValues()`` reports.
  var dirty: SlotMask { slots(2) }
  /// The slots set since changes were last processed.
  var changedInEvent: SlotMask { slots(3) }
  /// The bits of the slots set since the last save, for entities with 1 to 64 slots.
  @inline(__always) var dirtyBits: UInt64 { mask(2).load(as: UInt64.self) }
  /// The bits of the slots without a value in the row, for entities with 1 to 64 slots.
  @inline(__always) var nullBits: UInt64 { nulls.load(as: UInt64.self) }

  /// Clears the mask of slots set in the current event, after changes were processed.
  @inline(__always) func endEvent() {
    for word in 0..<Self.maskCount(slotCount) { mask(3).storeBytes(of: 0, toByteOffset: word &* 8, as: UInt64.self) }
  }

  /// Whether numbers can be written to any slot as plain words: no slot is derived, and each mask is one word.
  var acceptsWords: Bool { slotCount > 0 && slotCount <= 64 && entity._withUnsafeGuaranteedRef { !$0.hasDerivedSlots } }

  // MARK: Values

  /// Whether the row can be saved as it is: it has all values and no gaps.
  var isCopyable: Bool { isWhole && unusedBytes == 0 }

  /// Makes slots that were not set read from the object's own row from now on, because that row has changed or a value does not fit into
  /// the row here.
  func becomePartial() {
    guard isWhole else { return }
    head.pointee.isWhole = false
    for slot in 0..<slotCount where !has(slot) { empty(slot) }
    recordChange()
  }

  /// Accesses the value of a slot. Reading a large value loads all of it, and returns null if that fails; call `external(_:)` first if the
  /// difference matters.
  subscript(slot: Int) -> Slot {
    get {
      if hasOutOfRowValues, let value = outOfRowValue(slot) { return value }
      if isNull(slot) { return .null }
      switch kind(slot) {
      case .int, .reference: return .int(word(slot))
      case .real: return .real(Double(bitPattern: UInt64(bitPattern: word(slot))))
      case .text: return .text(String(decoding: bytes(slot), as: UTF8.self))
      case .bytes: return .bytes(Data(bytes(slot)))
      case .none: return .null
      }
    }
    nonmutating set {
      if hasOutOfRowValues { removeOutOfRowValue(slot) }
      switch (newValue, kind(slot)) {
      case (.null, _): empty(slot)
      case (.int(let value), .int), (.int(let value), .reference): store(value, slot)
      case (.real(let value), .real): store(Int64(bitPattern: value.bitPattern), slot)
      case (.text(var text), .text) where text.utf8.count <= Self.longByteCount:
        text.withUTF8 { store(UnsafeRawBufferPointer($0), slot) }
      case (.bytes(let bytes), .bytes) where bytes.count <= Self.longByteCount: bytes.withUnsafeBytes { store($0, slot) }
      default:
        empty(slot)
        becomePartial()
        outOfRowValues().values[slot] = newValue
      }
    }
  }

  /// Returns the number in a slot of a whole overlay, as the same kind of number as `other`, or null.
  @inline(__always) func number(at slot: Int, as other: Slot) -> Slot {
    if isNull(slot) { return .null }
    if case .real = other { return .real(Double(bitPattern: UInt64(bitPattern: word(slot)))) }
    return .int(word(slot))
  }

  /// Returns the large value of a slot that has not been loaded yet.
  @inline(__always) func external(_ slot: Int) -> ExternalData? { hasOutOfRowValues ? outOfRowExternal(slot) : nil }

  /// Sets a large value and marks the slot as changed.
  func setExternal(_ value: ExternalData, at slot: Int) {
    becomePartial()
    set(.null, at: slot)
    outOfRowValues().externals[slot] = value
  }

  // MARK: Values outside the row

  private func outOfRowValues() -> OutOfRowValues {
    if let outOfRow = head.pointee.outOfRow { return outOfRow }
    let made = OutOfRowValues()
    head.pointee.outOfRow = made
    return made
  }

  @inline(never) private func outOfRowValue(_ slot: Int) -> Slot? {
    guard let outOfRow = head.pointee.outOfRow else { return nil }
    if let external = outOfRow.externals[slot] { return (try? external.data()).map(Slot.bytes) ?? .null }
    return outOfRow.values[slot]
  }

  @inline(never) private func outOfRowExternal(_ slot: Int) -> ExternalData? { head.pointee.outOfRow?.externals[slot] }

  @inline(never) private func removeOutOfRowValue(_ slot: Int) {
    head.pointee.outOfRow?.values[slot] = nil
    head.pointee.outOfRow?.externals[slot] = nil
  }

  // MARK: Setting

  /// Sets a value without marking the slot as changed.
  func keep(_ value: Slot, at slot: Int) {
    #if CIPHERDATA_CHECKS
      checkInvariant(slot >= 0 && slot < slotCount, "the entity has no slot \(slot)")
    #endif
    self[slot] = value
    mark(1, slot)
    recordChange()
  }

  /// Sets a value that does not make the object changed, but is included in the object's next save.
  func setWithoutChange(_ value: Slot, at slot: Int) {
    keep(value, at: slot)
    mark(2, slot)
    recordChange()
  }

  /// Sets a value and marks the slot as changed.
  func set(_ value: Slot, at slot: Int) {
    // A slot number of another model would write outside the memory of the values.
    precondition(slot >= 0 && slot < slotCount, "the entity has no such slot; generate the typed classes again")
    self[slot] = value
    mark(1, slot)
    mark(2, slot)
    mark(3, slot)
    recordChange()
  }

  /// Marks a slot as not set: it has the value of the object's own row again.
  func forget(_ slot: Int) {
    // A whole row keeps its copy, which has the same value.
    if !isWhole { self[slot] = .null }
    for number in 1...3 { unmark(number, slot) }
    recordChange()
  }

  /// Marks a slot as unchanged, and keeps its value.
  func becomeClean(_ slot: Int) { unmark(2, slot) }

  /// Whether no slot was set.
  var isEmpty: Bool { slots(1).isEmpty }

  @inline(__always) private func recordChange() {
    #if CIPHERDATA_CHECKS
      _checkInvariants()
    #endif
  }
}

/// Values of an object that are stored outside its overlay's row.
private final class OutOfRowValues {
  /// Transient values and long values, by slot.
  var values: [Int: Slot] = [:]
  /// Large values that have not been loaded yet, by slot.
  var externals: [Int: ExternalData] = [:]
}

#if CIPHERDATA_CHECKS
  extension Overlay {
    /// Checks that dirty and changed slots have a value here, that other slots are null unless the overlay is whole, and that texts are
    /// between the words and the end of the memory.
    func _checkInvariants() {
      let fixed = Self.fixedSize(slotCount)
      checkInvariant(size >= fixed && size <= capacity, "the row has \(size) bytes of \(capacity)")
      var used = fixed
      for slot in 0..<slotCount {
        if !has(slot) {
          checkInvariant(!isDirty(slot) && !isChangedInEvent(slot), "slot \(slot) was changed and is not here")
          checkInvariant(isWhole || isNull(slot), "slot \(slot) has a value and is not here")
        }
        if isNull(slot) {
          checkInvariant(word(slot) == 0, "slot \(slot) is null and has a word")
        } else {
          checkInvariant(kind(slot) != .none, "slot \(slot) has a value that cannot be stored")
          if hasBytes(slot) {
            let offset = Int(word(slot) & 0xFFFF_FFFF)
            checkInvariant(offset >= fixed && offset + bytes(slot).count <= size, "the text of slot \(slot) leaves the row")
            used += bytes(slot).count
          }
        }
        if head.pointee.outOfRow?.externals[slot] != nil || head.pointee.outOfRow?.values[slot] != nil {
          checkInvariant(has(slot) && isNull(slot) && !isWhole, "slot \(slot) has a value in the row and an overlay value")
        }
      }
      checkInvariant(used + unusedBytes <= size, "\(unusedBytes) bytes of \(size) are said to be unused, \(used) are used")
    }
  }
#endif
