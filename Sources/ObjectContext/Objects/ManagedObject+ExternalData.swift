public import Foundation
@_spi(Generated) import ObjectModel
public import ObjectStore

extension ManagedObject {
  /// Returns the value of a binary or transformable attribute, to be read later as a whole or as a stream; nil if there is none.
  ///
  /// Fires a fault, but does not read the value's bytes. For a `transformable` attribute, the value consists of the stored bytes.
  ///
  /// - Throws: ``KeyValueError`` if the property is not a binary or transformable attribute.
  public final func externalData(forKey key: String) throws -> ExternalData? {
    externalData(at: try largeSlot(key).index)
  }

  /// Sets or clears a binary or transformable attribute.
  ///
  /// The value can be the contents of a file (``ExternalData/init(contentsOf:)``), the result of an ``ExternalDataWriter``, the value of
  /// another object, or bytes. Nothing is copied before the save, which reads the value in chunks. Fires a fault.
  ///
  /// - Throws: ``KeyValueError`` if the property is not a binary or transformable attribute, or if it is derived; ``StoreError`` if the
  ///   object's row or context no longer exists.
  public final func setExternalData(_ value: ExternalData?, forKey key: String) throws {
    let slot = try largeSlot(key)
    try checkSettable(slot)
    try checkWritable(slot.index)
    setExternalData(value, at: slot.index)
  }

  /// Returns the value of a binary attribute by its slot, for generated properties. See ``externalData(forKey:)``.
  package final func externalData(at slot: Int) -> ExternalData? {
    recordRead(slot)
    willAccess(slot)
    if let overlay, overlay.has(slot) {
      if let external = overlay.external(slot) { return external }
      return Data(slot: overlay[slot]).map { ExternalData($0) }
    }
    guard let image, compiledEntity.kinds[slot] == .bytes else { return nil }
    if image.isNull(slot) {
      if image.isUnreadable(slot) { recordUnreadable(slot) }
      return nil
    }
    return image.external(slot) ?? ExternalData(Data(image.bytes(slot)))
  }

  /// Sets a binary attribute by its slot, for generated properties. See ``setExternalData(_:forKey:)``.
  package final func setExternalData(_ value: ExternalData?, at slot: Int) {
    guard let value else { return setSlotValue(.null, at: slot) }
    // Read a value that stays in memory immediately, because no save will do so.
    if compiledEntity.slots[slot].isTransient || flags.contains(.isAwakening) { return setSlotValue(bytes(of: value), at: slot) }
    guard prepareToWrite(slot) else { return }
    let entity = compiledEntity
    if entity.slots[slot].isDerived { return reportError(derivedError(entity.slots[slot])) }
    let overlay = overlayForWriting(of: entity)
    recordWrite(at: slot)
    overlay.setExternal(value, at: slot)
    readOverlay()
    recordChange()
  }

  /// Returns a writer that collects a value in chunks, in storage that the object's store can adopt. For an SQLCipher store, it is an
  /// encrypted file.
  ///
  /// - Throws: ``StoreError`` if the store cannot provide the storage.
  public final func makeExternalDataWriter() throws -> ExternalDataWriter {
    guard let context = managedObjectContext else { return ExternalDataWriter() }
    return try context.rowSource.makeExternalDataWriter(for: currentID, of: compiledEntity)
  }

  /// Sets a binary or transformable attribute to the chunks of an asynchronous sequence.
  ///
  /// The chunks are collected in storage that the object's store can adopt. The object changes when the sequence ends. If the sequence
  /// throws, the object stays unchanged.
  ///
  /// - Parameters:
  ///   - chunks: The chunks, in order.
  ///   - key: The name of the attribute.
  ///   - isolation: The context's isolation. Defaults to the caller's isolation.
  /// - Throws: ``KeyValueError`` if the property is not a binary or transformable attribute; ``StoreError``; the errors of the sequence.
  public final func setExternalData<Chunks: AsyncSequence>(
    collecting chunks: Chunks, forKey key: String, isolation: isolated (any Actor)? = #isolation
  ) async throws where Chunks.Element == Data {
    let slot = try largeSlot(key).index
    let writer = try makeExternalDataWriter()
    var iterator = chunks.makeAsyncIterator()
    while let chunk = try await iterator.next(isolation: isolation) { try writer.write(chunk) }
    let value = try writer.finish()
    try checkWritable(slot)
    setExternalData(value, at: slot)
  }

  private final func largeSlot(_ key: String) throws(KeyValueError) -> CompiledSlot {
    switch compiledEntity.property(named: key) {
    case .attribute(let slot):
      guard slot.attributeType?.traits.canBeLarge ?? false else { break }
      return slot
    case nil: throw KeyValueError(unknown: key, of: compiledEntity)
    default: break
    }
    throw KeyValueError(
      .wrongType, key: key, entityName: compiledEntity.name, detail: "large values are those of binary attributes, which this one is not")
  }

  /// Returns whether a slot has a value, without reading it. Fires a fault.
  final func hasValue(_ slot: Int) -> Bool {
    willAccess(slot)
    if let overlay, overlay.has(slot) { return overlay.external(slot) != nil || !overlay[slot].isNull }
    return image.map { !$0.isNull(slot) || $0.isUnreadable(slot) } ?? false
  }

  /// Whether the row refers to values outside of it.
  final var hasExternals: Bool {
    // Runs for each saved object and for faults that receive their rows. Almost no object has such values.
    guard let row, withEntity({ RowImage.mayHaveExternals(row, at: $0.largeSlots) }) else { return false }
    let image = RowImage(heldRow: row)
    return compiledEntity.largeSlots.contains { image.external($0) != nil }
  }

  /// Returns all bytes of a large value. If they cannot be read, returns null, and the next save throws the error.
  final func bytes(of value: ExternalData) -> Slot {
    do { return .bytes(try value.data()) } catch {
      managedObjectContext?.record(error)
      return .null
    }
  }
}
