// ManagedObject+External: large binary values that are read when asked for, and written without being in memory.
public import Foundation
import ObjectModel
public import ObjectStore

extension ManagedObject {
  /// The value of a binary or transformable attribute, to be read when it is asked for, whole or as a stream; nil when there is none. Fires a fault, but
  /// reads none of the value's bytes.
  ///
  /// Of a `transformable` attribute it gives the stored bytes.
  /// - Throws: ``KeyValueError`` for a key of another property.
  public final func externalData(forKey key: String) throws -> ExternalData? {
    _externalData(at: try largeSlot(key).index)
  }

  /// Sets or clears a binary attribute: to a file's content (``ExternalData/init(contentsOf:)``), to what an ``ExternalDataWriter`` collected, to another
  /// object's value, or to bytes. Nothing is copied before the save, which reads the value piece by piece. Fires a fault.
  ///
  /// - Throws: ``KeyValueError`` for a key of another property or of a derived one; ``StoreError`` when the object's row or context is gone.
  public final func setExternalData(_ value: ExternalData?, forKey key: String) throws {
    let slot = try largeSlot(key)
    try checkSettable(slot)
    try checkWritable(slot.index)
    _setExternalData(value, at: slot.index)
  }

  /// The value of a binary attribute by its slot: what generated properties call. See ``externalData(forKey:)``.
  public final func _externalData(at slot: Int) -> ExternalData? {
    noteRead(slot)
    willAccess(slot)
    if let overlay, overlay.has(slot) {
      if let external = overlay.external(slot) { return external }
      return Data(_slot: overlay[slot]).map { ExternalData($0) }
    }
    guard let image, compiledEntity.kinds[slot] == .bytes else { return nil }
    if image.isNull(slot) {
      if image.isUnreadable(slot) { tellUnreadable(slot) }
      return nil
    }
    return image.external(slot) ?? ExternalData(Data(image.bytes(slot)))
  }

  /// Sets a binary attribute by its slot: what generated properties call. See ``setExternalData(_:forKey:)``.
  public final func _setExternalData(_ value: ExternalData?, at slot: Int) {
    guard let value else { return setSlotValue(.null, at: slot) }
    // A value that is kept in memory only is read at once: nobody else would hold it.
    if compiledEntity.slots[slot].isTransient || flags.contains(.isAwaking) { return setSlotValue(bytes(of: value), at: slot) }
    guard prepareToWrite(slot) else { return }
    let entity = compiledEntity
    if entity.slots[slot].isDerived { return tell(derivedError(entity.slots[slot])) }
    let overlay = overlayForWriting(of: entity)
    hearWrite(at: slot)
    overlay.setExternal(value, at: slot)
    readOverlay()
    noteChange()
  }

  /// Collects a value that comes in pieces, in a place that the object's store can take over: in an SQLCipher store, an encrypted file. See
  /// ``ExternalDataWriter``.
  ///
  /// - Throws: ``StoreError`` when the store cannot take it.
  public final func makeExternalDataWriter() throws -> ExternalDataWriter {
    guard let context = managedObjectContext else { return ExternalDataWriter() }
    return try context.rowSource.makeExternalDataWriter(for: currentID, of: compiledEntity)
  }

  /// Sets a binary attribute to what a sequence gives, which is collected piece by piece where the object's store can keep it. The object changes when the
  /// sequence has ended; if it throws, nothing does.
  ///
  /// - Parameters:
  ///   - chunks: The pieces, in order.
  ///   - key: The attribute's name.
  ///   - isolation: Where the context lives; the caller's isolation by default.
  /// - Throws: ``KeyValueError`` for a key of another property; ``StoreError``; what the sequence throws.
  public final func setExternalData<Chunks: AsyncSequence>(
    collecting chunks: Chunks, forKey key: String, isolation: isolated (any Actor)? = #isolation
  ) async throws where Chunks.Element == Data {
    let slot = try largeSlot(key).index
    let writer = try makeExternalDataWriter()
    var iterator = chunks.makeAsyncIterator()
    while let chunk = try await iterator.next(isolation: isolation) { try writer.write(chunk) }
    let value = try writer.finish()
    try checkWritable(slot)
    _setExternalData(value, at: slot)
  }

  private final func largeSlot(_ key: String) throws(KeyValueError) -> CompiledSlot {
    switch compiledEntity.property(named: key) {
    case .attribute(let slot):
      guard let type = slot.attributeType, type == .binary || type == .transformable else { break }
      return slot
    case nil: throw KeyValueError(unknown: key, of: compiledEntity)
    default: break
    }
    throw KeyValueError(
      .wrongType, key: key, entityName: compiledEntity.name, detail: "large values are those of binary attributes, which this one is not")
  }

  /// Whether a slot has a value, which is not read. Fires a fault.
  final func hasValue(_ slot: Int) -> Bool {
    willAccess(slot)
    if let overlay, overlay.has(slot) { return overlay.external(slot) != nil || !overlay[slot].isNull }
    return image.map { !$0.isNull(slot) || $0.isUnreadable(slot) } ?? false
  }

  /// Whether the row refers to values outside it.
  final var hasExternals: Bool {
    // Asked of each object that is saved, and of faults that get their rows; hardly any have such values.
    guard let row, askEntity({ RowImage.mayHaveExternals(row, at: $0.largeSlots) }) else { return false }
    let image = RowImage(heldRow: row)
    return compiledEntity.largeSlots.contains { image.external($0) != nil }
  }

  /// All bytes of a large value; null when they cannot be read, which the next save throws.
  final func bytes(of value: ExternalData) -> Slot {
    do { return .bytes(try value.data()) } catch {
      managedObjectContext?.note(error)
      return .null
    }
  }
}
