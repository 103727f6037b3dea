#if !canImport(Darwin)
  public import Foundation

  // On Darwin, UIKit and AppKit declare these members.
  extension IndexPath {
    /// Creates the index path of an item in a section.
    ///
    /// - Parameters:
    ///   - item: The index of the item in its section.
    ///   - section: The index of the section.
    public init(item: Int, section: Int) { self.init(indexes: [section, item]) }

    /// Creates the index path of a row in a section.
    ///
    /// - Parameters:
    ///   - row: The index of the row in its section.
    ///   - section: The index of the section.
    public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

    /// The index of the section. The index path must have at least one index.
    public var section: Int { self[0] }
    /// The index of the item in its section. The index path must have at least two indexes.
    public var item: Int { self[1] }
    /// The index of the row in its section; the same as ``item``.
    public var row: Int { self[1] }
  }
#endif
