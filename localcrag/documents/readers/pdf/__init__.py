"""Reader of PDF files: lines, paragraphs, headings and tables of printed and scanned pages."""
