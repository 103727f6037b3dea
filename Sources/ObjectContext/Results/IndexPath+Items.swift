// IndexPath+Items: index paths of two indexes, where Foundation alone is there.

#if !canImport(Darwin)
  public import Foundation

  // Where UIKit and AppKit are, these are theirs.
  extension IndexPath {
    /// Makes the index path of an item in a section.
    ///
    /// - Parameters:
    ///   - item: The place of the item in its section.
    ///   - section: The section.
    public init(item: Int, section: Int) { self.init(indexes: [section, item]) }

    /// Makes the index path of a row in a section.
    ///
    /// - Parameters:
    ///   - row: The place of the row in its section.
    ///   - section: The section.
    public init(row: Int, section: Int) { self.init(indexes: [section, row]) }

    /// The section: the first index. The index path has one.
    public var section: Int { self[0] }
    /// The place of the item in its section: the second index. The index path has two.
    public var item: Int { self[1] }
    /// The place of the row in its section, which is what ``item`` is.
    public var row: Int { self[1] }
  }
#endif
